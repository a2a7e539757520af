#include "vgpu/isa/fidelity.hpp"

#include <string_view>

namespace kerncap::vgpu::isa {
namespace {

struct Entry {
  std::string_view prefix;  // of the row's name; the first that fits counts
  Bound bound;
};

constexpr const char* kManual = "accuracy stated with the instruction in the MI300 and RDNA3 ISA manuals";
constexpr const char* kScalar = "assumed to be as accurate as the vector form";
constexpr const char* kAssumed = "no ISA manual states one; assumed";
constexpr const char* kSeed = "which seed bits count for results below the smallest normal number is not published; the others are exact";
constexpr const char* kSeedBits = "which seed bits count is not published; the top ones assumed";
constexpr const char* kFormat = "rounding of normalised and half formats is not published; the others are exact";
constexpr const char* kOrder = "order and width of the additions are not published; assumed";

// Longer prefixes stand before the shorter ones that they contain.
constexpr Entry kEntries[] = {
    {"v_exp_f16", {Bound::Kind::ulp, 0.51, kManual}},
    {"v_log_f16", {Bound::Kind::ulp, 0.51, kManual}},
    {"v_rcp_f16", {Bound::Kind::ulp, 0.51, kManual}},
    {"v_rsq_f16", {Bound::Kind::ulp, 0.51, kManual}},
    {"v_sqrt_f16", {Bound::Kind::ulp, 0.51, kManual}},
    {"v_sin_f16", {Bound::Kind::absolute, 0x1p-10, kAssumed}},
    {"v_cos_f16", {Bound::Kind::absolute, 0x1p-10, kAssumed}},
    {"v_s_exp_f16", {Bound::Kind::ulp, 0.51, kScalar}},
    {"v_s_log_f16", {Bound::Kind::ulp, 0.51, kScalar}},
    {"v_s_rcp_f16", {Bound::Kind::ulp, 0.51, kScalar}},
    {"v_s_rsq_f16", {Bound::Kind::ulp, 0.51, kScalar}},
    {"v_s_sqrt_f16", {Bound::Kind::ulp, 0.51, kScalar}},
    {"v_s_", {Bound::Kind::ulp, 1, kScalar}},
    {"v_exp_", {Bound::Kind::ulp, 1, kManual}},
    {"v_log_", {Bound::Kind::ulp, 1, kManual}},
    {"v_rcp_f32", {Bound::Kind::ulp, 1, kManual}},
    {"v_rcp_iflag_f32", {Bound::Kind::ulp, 1, kManual}},
    {"v_rsq_f32", {Bound::Kind::ulp, 1, kManual}},
    {"v_sqrt_f32", {Bound::Kind::ulp, 1, kManual}},
    {"v_sin_f32", {Bound::Kind::absolute, 0x1p-18, kAssumed}},
    {"v_cos_f32", {Bound::Kind::absolute, 0x1p-18, kAssumed}},
    {"v_rcp_f64", {Bound::Kind::ulp, 0x1p29, kManual}},
    {"v_rsq_f64", {Bound::Kind::ulp, 0x1p29, kManual}},
    {"v_sqrt_f64", {Bound::Kind::ulp, 0x1p29, kManual}},
    {"buffer_load_format", {Bound::Kind::ulp, 1, kFormat}},
    {"buffer_store_format", {Bound::Kind::ulp, 1, kFormat}},
    {"tbuffer_", {Bound::Kind::ulp, 1, kFormat}},
    {"v_cvt_scalef32_sr_", {Bound::Kind::ulp, 1, kSeedBits}},
    {"v_cvt_sr_f16", {Bound::Kind::ulp, 1, kSeedBits}},
    {"v_cvt_sr_bf16", {Bound::Kind::ulp, 1, kSeedBits}},
    {"v_cvt_sr_", {Bound::Kind::ulp, 1, kSeed}},
    {"v_dot2_f16", {Bound::Kind::accumulate, 0x1.8p14, kOrder}},  // three roundings to a half
    {"v_dot2_bf16", {Bound::Kind::accumulate, 0x1.8p17, kOrder}},
    {"v_dot2", {Bound::Kind::accumulate, 3, kOrder}},
    {"v_dot4_f32", {Bound::Kind::accumulate, 5, kOrder}},
    {"v_dual_dot2", {Bound::Kind::accumulate, 3, kOrder}},
    {"v_mfma_", {Bound::Kind::accumulate, 33, kOrder}},
    {"v_smfmac_", {Bound::Kind::accumulate, 33, kOrder}},
    // 16-bit results are rounded once more: a half unit of their last place, in terms of 2^-24.
    {"v_wmma_f16", {Bound::Kind::accumulate, 0x1p13, kOrder}},
    {"v_wmma_bf16", {Bound::Kind::accumulate, 0x1p16, kOrder}},
    {"v_wmma_", {Bound::Kind::accumulate, 17, kOrder}},
    {"v_swmmac_f16", {Bound::Kind::accumulate, 0x1p13, kOrder}},
    {"v_swmmac_bf16", {Bound::Kind::accumulate, 0x1p16, kOrder}},
    {"v_swmmac_", {Bound::Kind::accumulate, 33, kOrder}},
};
constexpr Bound kUnknown{Bound::Kind::absolute, -1, "not stated"};

}  // namespace

const Bound* bound_of(const Row& row) {
  if (!(row.flags & kApproximate)) return nullptr;
  for (const Entry& entry : kEntries)
    if (std::string_view(row.name).starts_with(entry.prefix)) return &entry.bound;
  return &kUnknown;  // a test forbids it
}

}  // namespace kerncap::vgpu::isa
