// Device memory that one process hands to another (HIP's IPC handles). In: a storage, or the name by which another process
// offers one. Out: such a name; a storage that is the other process's memory. Called by the ioctls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "vgpu/memory/backing.hpp"

namespace kerncap::vgpu {

// Process, descriptor of a record there, and a number that tells this record from a later one under the same descriptor.
using SharedName = std::array<std::uint32_t, 4>;

// The same name each time; valid until the storage is freed. Throws std::system_error.
SharedName share(const Backing& backing, Storage& storage);
// nullptr with errno: nobody offers it (ESRCH, EINVAL), or it cannot be mapped.
std::shared_ptr<Storage> open_shared(const SharedName& name);

}  // namespace kerncap::vgpu
