// Opening the device nodes, shared by the interposed libc and libdrm entry points.
#pragma once

namespace kerncap::vgpu {

// A descriptor for /dev/kfd (node 0) or a render node (its minor); -1 with errno. Makes the device at the first call.
int open_node(unsigned node) noexcept;
// A DRM request that reached the descriptor itself: libdrm's entry points are interposed, so none should.
void report_unknown_drm(unsigned long request) noexcept;

}  // namespace kerncap::vgpu
