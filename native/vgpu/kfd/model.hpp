// What one virtual GPU looks like, per gfx target. In: a target. Out: the numbers that topology and libdrm report.
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/config.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu {

struct Model {
  isa::Target target;
  std::uint32_t gfx_target_version, device_id, family_id;
  std::uint32_t simd_count, simd_per_cu, wave_size, waves_per_simd;
  std::uint32_t arrays, arrays_per_engine, cu_per_array, xccs, lds_kib;
  std::uint32_t firmware, sdma_firmware, sdma_engines, sdma_xgmi_engines;
  std::uint64_t vram_bytes;
  std::uint32_t memory_gb_s;  // nominal bandwidth, for the cost model alone
  const char* product;
  std::array<std::uint32_t, 3> cache_kib{16, 8192, 0};  // L1, L2, L3 (0: none)
};

const Model& model_of(isa::Target target);
// Device memory of each GPU.
std::uint64_t vram_bytes_of(const Config& config);

// Identity of the nth virtual GPU (from 0).
inline constexpr std::uint32_t kFirstGpuId = 0x5a17;
inline constexpr unsigned kFirstRenderMinor = 128;
constexpr std::uint32_t gpu_id_of(unsigned gpu) { return kFirstGpuId + gpu; }
constexpr std::uint64_t unique_id_of(unsigned gpu) { return 0x4b43000000000000u + gpu + 1; }
// Bus in bits 15:8, device and function 0.
constexpr std::uint32_t pci_location(unsigned gpu) { return 0x300u + 0x100u * gpu; }

// Address space apertures. Source: amdgpu kfd_flat_memory.c (bits 63:48 select LDS and scratch on gfx9 and later).
inline constexpr std::uint64_t kLdsBase = 0x1000000000000, kLdsLimit = 0x10000ffffffff;
inline constexpr std::uint64_t kScratchBase = 0x2000000000000, kScratchLimit = 0x20000ffffffff;
// A GPUVM limit of 2^47 - 1 makes libhsakmt reserve device addresses by plain mmap.
inline constexpr std::uint64_t kGpuvmBase = 0x4000, kGpuvmLimit = 0x7fffffffffff;

// One tick of the GPU's constant clock is 10 ns. Source: amdgpu_gpu_info.gpu_counter_freq = 100000 (kHz).
inline constexpr std::uint64_t kNsPerTick = 10;
// What topology and libdrm report, and the cost model's nominal clock.
inline constexpr std::uint32_t kEngineClockMhz = 1700;

}  // namespace kerncap::vgpu
