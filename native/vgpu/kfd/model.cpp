#include "vgpu/kfd/model.hpp"

namespace kerncap::vgpu {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// MI210, MI300X, MI350X, RX 7900 XTX and RX 9070 XT. Source: topology properties of the amdgpu driver for these parts; family ids from
// amdgpu_drm.h (AMDGPU_FAMILY_AI, AMDGPU_FAMILY_GC_11_0_0, AMDGPU_FAMILY_GC_12_0_0).
constexpr Model kModels[] = {
    {.target = isa::Target::gfx90a, .gfx_target_version = 90010, .device_id = 0x740f, .family_id = 141,
     .simd_count = 416, .simd_per_cu = 4, .wave_size = 64, .waves_per_simd = 8, .arrays = 8, .arrays_per_engine = 1,
     .cu_per_array = 14, .xccs = 1, .lds_kib = 64, .firmware = 68, .sdma_firmware = 8, .sdma_engines = 2,
     .sdma_xgmi_engines = 3, .vram_bytes = 64 * kGiB,
     .memory_gb_s = 1638, .product = "Virtual MI210"},
    {.target = isa::Target::gfx942, .gfx_target_version = 90402, .device_id = 0x74a1, .family_id = 141,
     .simd_count = 1216, .simd_per_cu = 4, .wave_size = 64, .waves_per_simd = 8, .arrays = 32, .arrays_per_engine = 1,
     .cu_per_array = 10, .xccs = 8, .lds_kib = 64, .firmware = 124, .sdma_firmware = 22, .sdma_engines = 2,
     .sdma_xgmi_engines = 14, .vram_bytes = 192 * kGiB,
     .memory_gb_s = 5325, .product = "Virtual MI300X", .cache_kib = {32, 4096, 262144}},
    {.target = isa::Target::gfx950, .gfx_target_version = 90500, .device_id = 0x75a0, .family_id = 141,
     .simd_count = 1024, .simd_per_cu = 4, .wave_size = 64, .waves_per_simd = 8, .arrays = 32, .arrays_per_engine = 1,
     .cu_per_array = 8, .xccs = 8, .lds_kib = 160, .firmware = 41, .sdma_firmware = 12, .sdma_engines = 2,
     .sdma_xgmi_engines = 14, .vram_bytes = 288 * kGiB,
     .memory_gb_s = 8000, .product = "Virtual MI350X", .cache_kib = {32, 4096, 262144}},
    {.target = isa::Target::gfx1100, .gfx_target_version = 110000, .device_id = 0x744c, .family_id = 145,
     .simd_count = 192, .simd_per_cu = 2, .wave_size = 32, .waves_per_simd = 16, .arrays = 12, .arrays_per_engine = 2,
     .cu_per_array = 8, .xccs = 1, .lds_kib = 64, .firmware = 550, .sdma_firmware = 21, .sdma_engines = 2,
     .sdma_xgmi_engines = 0, .vram_bytes = 24 * kGiB,
     .memory_gb_s = 960, .product = "Virtual RX 7900 XTX", .cache_kib = {32, 6144, 98304}},
    {.target = isa::Target::gfx1201, .gfx_target_version = 120001, .device_id = 0x7550, .family_id = 152,
     .simd_count = 128, .simd_per_cu = 2, .wave_size = 32, .waves_per_simd = 16, .arrays = 8, .arrays_per_engine = 2,
     .cu_per_array = 8, .xccs = 1, .lds_kib = 64, .firmware = 2590, .sdma_firmware = 811, .sdma_engines = 2,
     .sdma_xgmi_engines = 0, .vram_bytes = 16 * kGiB,
     .memory_gb_s = 640, .product = "Virtual RX 9070 XT", .cache_kib = {32, 8192, 65536}},
};

}  // namespace

const Model& model_of(isa::Target target) {
  for (const Model& model : kModels)
    if (model.target == target) return model;
  return kModels[0];
}

std::uint64_t vram_bytes_of(const Config& config) {
  return config.vram_mib == 0 ? model_of(config.target).vram_bytes : std::uint64_t{config.vram_mib} << 20;
}

}  // namespace kerncap::vgpu
