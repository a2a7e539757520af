// Opening the device nodes, shared by the interposed libc and libdrm entry points.
#pragma once

#include <string_view>

namespace kerncap::vgpu {

// Whether a path may be one of the virtual GPU's. Cheap: every opened path passes here.
bool may_be_ours(const char* path) noexcept;
// 0 for /dev/kfd, the render minor for a render node of a virtual GPU; -1 otherwise.
int device_node(std::string_view path) noexcept;
// A descriptor for /dev/kfd (node 0) or a render node (its minor); -1 with errno. Makes the device at the first call.
int open_node(unsigned node) noexcept;
// A DRM request that reached the descriptor itself: libdrm's entry points are interposed, so none should.
void report_unknown_drm(unsigned long request) noexcept;

}  // namespace kerncap::vgpu
