#include "vgpu/isa/check/memory_check.hpp"

#include <algorithm>

namespace kerncap::vgpu::isa::check {

MemoryCheck::MemoryCheck(Code& code, Findings& findings, const Memory& memory, std::vector<Region> regions,
                         std::uint32_t lds_bytes)
    : code_(code), findings_(findings), memory_(memory), regions_(std::move(regions)), lds_bytes_(lds_bytes) {
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.va < b.va; });
}

void MemoryCheck::report(const Wave& w, const Described& d, const Access& a, const char* kind, std::string message) {
  findings_.add("memory", kind, d.inst->pc, 0, false, [&](Finding& f) {
    f.site.text = code_.text(d.inst->pc);
    std::copy(std::begin(w.group->id), std::end(w.group->id), f.site.workgroup);
    f.site.wave = w.index_in_group;
    if (d.inst->format != Format::smem) f.site.lane = a.lane;
    f.space = name(a.space);
    f.address = a.address;
    f.size_bytes = a.bytes;
    f.message = std::move(message);
  });
}

void MemoryCheck::lds(const Wave& w, MemoryGroup& group, const Described& d, const Access& a) {
  if (a.address + a.bytes > lds_bytes_) {
    report(w, d, a, "lds-out-of-bounds",
           "the workgroup has " + std::to_string(lds_bytes_) + " bytes of LDS; beyond the allocation the hardware reads 0 and "
           "drops stores");
    return;
  }
  const auto first = group.written.begin() + static_cast<std::ptrdiff_t>(a.address);
  if (a.op != MemoryOp::store && std::find(first, first + a.bytes, 0) != first + a.bytes)
    report(w, d, a, "lds-uninitialised", "no workitem of the workgroup has written these bytes");
  if (a.op != MemoryOp::load) std::fill_n(first, a.bytes, std::uint8_t{1});
}

void MemoryCheck::outside_region(const Wave& w, const Described& d, const Access& a) {
  auto next = std::upper_bound(regions_.begin(), regions_.end(), a.address,
                               [](std::uint64_t va, const Region& r) { return va < r.va; });
  const Region* below = next == regions_.begin() ? nullptr : &*(next - 1);
  if (below && a.address - below->va < below->size && a.bytes <= below->va + below->size - a.address) return;
  // Memory that holds no region is the runtime's own: code, queues, arguments.
  const Memory::Mapping m = memory_.find(a.address);
  if (below && below->va + below->size > m.va) {
    const std::uint64_t past = a.address + a.bytes - (below->va + below->size);
    return report(w, d, a, "out-of-bounds",
                  "ends " + std::to_string(past) + " bytes past the end of the region at " + std::to_string(below->va) + " of " +
                      std::to_string(below->size) + " bytes");
  }
  if (next != regions_.end() && next->va < m.end)
    report(w, d, a, "out-of-bounds",
           std::to_string(next->va - a.address) + " bytes before the region at " + std::to_string(next->va));
}

void MemoryCheck::global(const Wave& w, const Described& d, const Access& a) {
  const bool write = a.op != MemoryOp::load;
  if (!w.memory->find(a.address, a.bytes, write) && w.memory->first_bad(a.address, a.bytes, write) != a.address + a.bytes)
    return report(w, d, a, "unmapped", write ? "store to memory that is not mapped, or read-only" : "load from memory that is not mapped");
  if (a.op == MemoryOp::atomic && a.address % a.bytes != 0)
    return report(w, d, a, "misaligned-atomic", "the address is no multiple of the size");
  if (!regions_.empty()) outside_region(w, d, a);
}

void MemoryCheck::before(const Wave& w, MemoryGroup& group, const Described& d, const std::vector<Access>& accesses) {
  w.memory->refresh();
  for (const Access& a : accesses) {
    if (a.space == Space::lds) {
      lds(w, group, d, a);
    } else if (a.space == Space::global) {
      global(w, d, a);
    } else if (a.address + a.bytes > w.scratch_lane_bytes) {
      report(w, d, a, "scratch-out-of-bounds",
             "the private segment has " + std::to_string(w.scratch_lane_bytes) + " bytes a workitem");
    }
  }
}

}  // namespace kerncap::vgpu::isa::check
