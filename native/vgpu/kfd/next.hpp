// The function that an interposed symbol hides.
#pragma once

#include <dlfcn.h>

namespace kerncap::vgpu {

template <class Function>
Function next(const char* symbol) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, symbol));
}

}  // namespace kerncap::vgpu
