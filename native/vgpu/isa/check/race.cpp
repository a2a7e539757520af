#include "vgpu/isa/check/race.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace kerncap::vgpu::isa::check {
namespace {

constexpr std::size_t kMaxSnapshots = 64;
constexpr std::size_t kSlotBytes = 16;
// The vector cache: its lines, and how many of them are remembered (16 KiB on gfx90a, 32 KiB on gfx942 and gfx1100).
constexpr std::uint64_t kLineBytes = 64;
constexpr std::size_t kMaxLines = 512;

const std::byte* host_of(const Wave& w, const Access& a) {
  if (a.space == Space::global) return w.memory->find(a.address, a.bytes, false);
  const auto& lds = w.group->lds;
  if (a.address + a.bytes > lds.size()) return nullptr;
  return reinterpret_cast<const std::byte*>(lds.data() + a.address);
}

// Whether this access may have been an atomic one in the source. Atomic loads bypass the cache and say so, atomic stores say so
// on gfx942 and gfx950 only; in LDS neither does. Source: LLVM AMDGPUUsage, "Memory Model".
bool maybe_atomic(const Slot& s, Target target, Space space) {
  if (s.rmw || s.bypass || space == Space::lds) return true;
  return s.write && !contains(kGfx940, target);
}

const char* verb(const Slot& s) { return s.rmw ? "atomic" : s.write ? "store" : "load"; }

}  // namespace

void Race::fill_id(std::uint64_t number, std::uint32_t id[3]) const {
  id[0] = static_cast<std::uint32_t>(number % groups_[0]);
  id[1] = static_cast<std::uint32_t>(number / groups_[0] % groups_[1]);
  id[2] = static_cast<std::uint32_t>(number / groups_[0] / groups_[1]);
}

void Race::start(RaceGroup& group, std::uint64_t number, unsigned waves) {
  group = {};
  group.number = number;
  group.waves.resize(waves);
  for (unsigned i = 0; i < waves; ++i) group.waves[i].thread = thread_of(number, i);
}

void Race::release(RaceGroup& group, unsigned wave) {
  RaceWave& me = group.waves[wave];
  me.released = {now_, group.barrier, me.clock};
}

void Race::barrier(RaceGroup& group) {
  group.barrier = now_++;
  SharedClock joined;
  for (const RaceWave& wave : group.waves) {
    if (!wave.clock || wave.clock == joined) continue;
    if (!joined) {
      joined = wave.clock;
      continue;
    }
    auto both = std::make_shared<Clock>(*joined);
    both->join(*wave.clock);
    joined = both;
  }
  for (RaceWave& wave : group.waves) wave.clock = joined;
}

void Race::before(const Wave& w, const std::vector<Access>& accesses) {
  old_.assign(accesses.size() * kSlotBytes, 0);
  for (std::size_t k = 0; k < accesses.size(); ++k) {
    const Access& a = accesses[k];
    if (a.op != MemoryOp::store || a.space == Space::scratch) continue;
    if (const std::byte* host = host_of(w, a)) std::memcpy(&old_[k * kSlotBytes], host, std::min<std::size_t>(a.bytes, kSlotBytes));
  }
}

bool Race::ordered(const RaceGroup& group, const RaceWave& me, const Slot& earlier) const {
  if (earlier.thread == me.thread) return true;
  if (group_of(earlier.thread) == group.number && earlier.time <= group.barrier) return true;
  return me.clock && me.clock->covers(earlier.thread, earlier.time);
}

void Race::acquire(RaceWave& me, const Released& released, Thread from) {
  const Thread whole = from | kWholeGroup;
  const bool known = me.clock && me.clock->covers(from, released.own) && me.clock->covers(whole, released.barrier);
  if (known && (!released.clock || released.clock == me.clock)) return;
  auto clock = me.clock ? std::make_shared<Clock>(*me.clock) : std::make_shared<Clock>();
  if (released.own) clock->see(from, released.own);
  if (released.barrier) clock->see(whole, released.barrier);
  if (released.clock) clock->join(*released.clock);
  me.clock = clock;
}

const Released* Race::released_before(Thread thread, std::uint64_t time) const {
  const auto log = log_.find(thread);
  if (log == log_.end() || log->second.empty()) return nullptr;
  const auto& entries = log->second;
  auto at = std::upper_bound(entries.begin(), entries.end(), time, [](std::uint64_t t, const Snapshot& s) { return t < s.time; });
  // Entries that were dropped are older than the first: that one makes more known, never less.
  return at == entries.begin() ? (entries.size() == kMaxSnapshots ? &entries.front().released : nullptr) : &(--at)->released;
}

// An atomic instruction or a load that bypasses the cache sees what others released before they stored there.
void Race::synchronise(RaceGroup& group, RaceWave& me, const Described& d, const Access& a) {
  auto& cells = a.space == Space::lds ? group.lds_atomics : atomics_;
  const bool reads = d.op == MemoryOp::load || d.returns;
  if (reads) {
    if (const auto cell = cells.find(a.address); cell != cells.end()) learn(me, cell->second);
    Shadow& shadow = a.space == Space::lds ? group.lds : global_;
    if (Shadow::Page* page = shadow.page(a.address / Shadow::kPageBytes))
      for (const Slot& s : page->words[a.address % Shadow::kPageBytes / 4].slots)
        if (s.time && s.write && !s.rmw && s.thread != me.thread)
          if (const Released* released = released_before(s.thread, s.time)) acquire(me, *released, s.thread);
  }
  if (d.op != MemoryOp::atomic) return;
  // LDS keeps its own order: everything before the atomic is known to who sees it.
  if (a.space == Space::lds) me.released = {now_, group.barrier, me.clock};
  if (me.released.own == 0 && me.released.barrier == 0 && !me.released.clock) return;
  publish(cells[a.address], me);
}

void Race::publish(Clock& cell, const RaceWave& me) {
  if (me.released.own) cell.see(me.thread, me.released.own);
  if (me.released.barrier) cell.see(me.thread | kWholeGroup, me.released.barrier);
  if (me.released.clock) cell.join(*me.released.clock);
}

void Race::learn(RaceWave& me, const Clock& cell) {
  if (cell.empty()) return;
  auto clock = me.clock ? std::make_shared<Clock>(*me.clock) : std::make_shared<Clock>();
  clock->join(cell);
  me.clock = clock;
}

// No wave comes to the next round before all have come to this one, and none stays behind when that opens.
void Race::meet(RaceGroup& group, unsigned wave, unsigned resource, bool comes, bool goes_on) {
  RaceWave& me = group.waves[wave];
  Meeting& meeting = meetings_[resource];
  if (comes) publish(meeting.arriving, me);
  if (comes && goes_on) meeting.open = std::exchange(meeting.arriving, Clock());
  if (goes_on) learn(me, meeting.open);
}

Site Race::site_of(const Slot& slot) {
  Site site;
  site.pc = code_.pc_of(slot.inst);
  site.text = code_.text(site.pc);
  fill_id(group_of(slot.thread), site.workgroup);
  site.wave = slot.thread & kWholeGroup;
  site.lane = static_cast<unsigned>(slot.lane);
  return site;
}

void Race::report(const RaceGroup& group, const Wave&, const Access& a, const Slot& earlier, const Slot& later, bool benign) {
  const bool same_group = group_of(earlier.thread) == group.number;
  const char* kind = earlier.thread == later.thread ? "race-in-store"
                     : same_group                   ? "race-in-workgroup"
                                                    : "race-across-workgroups";
  findings_.add("race", kind, code_.pc_of(later.inst), code_.pc_of(earlier.inst), benign, [&](Finding& f) {
    f.site = site_of(later);
    f.other = site_of(earlier);
    f.space = name(a.space);
    f.address = a.address;
    f.size_bytes = a.bytes;
    f.message = earlier.thread == later.thread
                    ? "two lanes of one store write different values to the same bytes"
                    : std::string(verb(later)) + " after " + verb(earlier) + " by another " +
                          (same_group ? "wave of the workgroup" : "workgroup") + ", and nothing orders them";
    if (benign) f.message += "; the bytes stored are those that were there";
  });
}

void Race::touch(RaceGroup& group, const RaceWave& me, const Access& a, Slot access, Shadow::Page& page, std::uint64_t word,
                 const Wave& w) {
  Word& cell = page.words[word];
  const bool sync = page.synchronises[word];
  Slot* into = nullptr;
  for (Slot& s : cell.slots) {
    if (!s.time) {
      if (!into) into = &s;
      continue;
    }
    const bool before = ordered(group, me, s);
    if ((s.mask & access.mask) && (s.write || access.write) && !before) {
      // Both sides atomic, as far as can be told: at a place where atomic instructions are met. Compilers begin a loop of
      // compare-and-swap with a plain load.
      const bool first_guess = (s.rmw && !access.write) || (access.rmw && !s.write);
      const bool atomic = first_guess || ((s.rmw || s.bypass || access.rmw || access.bypass || sync) &&
                                          maybe_atomic(s, w.target, a.space) && maybe_atomic(access, w.target, a.space));
      if (!atomic)
        report(group, w, a, s, access, access.write ? access.unchanged : s.unchanged);
    }
    const bool covered = (s.mask & ~access.mask) == 0;
    const bool same = s.thread == access.thread && s.write == access.write && s.rmw == access.rmw && s.bypass == access.bypass;
    if (same && (covered || s.time == access.time)) {
      access.mask |= s.mask;
      into = &s;
    } else if (covered && before && (access.write || !s.write) && !(into && into->time)) {
      into = &s;
    }
  }
  if (!into) {
    // The oldest read goes, or the oldest of all.
    into = &cell.slots[0];
    for (Slot& s : cell.slots)
      if (s.write < into->write || (s.write == into->write && s.time < into->time)) into = &s;
  }
  *into = access;
}

// A plain load of a line that the workgroup had loaded before another one stored there, with no invalidation in between: the
// cache may answer with what it had. That other workgroups of the same compute unit had the line is not known here.
void Race::stale(RaceGroup& group, const RaceWave& me, const Access& a, const Slot& load) {
  for (std::uint64_t line = a.address / kLineBytes; line <= (a.address + a.bytes - 1) / kLineBytes; ++line) {
    if (group.cached.size() >= kMaxLines) group.cached.clear();  // evicted, as far as is known
    const auto [known, fresh] = group.cached.try_emplace(line, now_);
    if (fresh) continue;
    for (std::uint64_t at = std::max(a.address, line * kLineBytes) / 4; at * 4 < std::min(a.address + a.bytes, (line + 1) * kLineBytes); ++at) {
      Shadow::Page* page = global_.page(at * 4 / Shadow::kPageBytes);
      if (!page) return;
      for (const Slot& s : page->words[at * 4 % Shadow::kPageBytes / 4].slots) {
        if (!s.time || !s.write || s.time < known->second || group_of(s.thread) == group.number || !ordered(group, me, s)) continue;
        findings_.add("race", "missing-acquire", code_.pc_of(load.inst), code_.pc_of(s.inst), s.unchanged, [&](Finding& f) {
          f.site = site_of(load);
          f.other = site_of(s);
          f.space = name(a.space);
          f.address = a.address;
          f.size_bytes = a.bytes;
          f.message = "the workgroup had loaded this cache line before another workgroup stored there, and has not invalidated its "
                      "cache since: the load may see the old value";
        });
      }
    }
  }
}

void Race::lanes_of_one_store(const Wave& w, RaceGroup& group, const Described& d, const std::vector<Access>& accesses) {
  if (d.op != MemoryOp::store || d.inst->format == Format::smem) return;
  std::vector<const Access*> order;
  for (const Access& a : accesses)
    if (a.op == MemoryOp::store && a.space != Space::scratch && !d.to_lds) order.push_back(&a);
  std::stable_sort(order.begin(), order.end(), [](const Access* x, const Access* y) {
    return x->space != y->space ? x->space < y->space : x->address < y->address;
  });
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Access &x = *order[k - 1], &y = *order[k];
    if (x.space != y.space || x.address + x.bytes <= y.address || x.lane == y.lane) continue;
    bool equal = x.address == y.address && x.bytes == y.bytes;
    const bool high = std::string_view(d.inst->row->name).find("d16_hi") != std::string_view::npos;
    // A typed store converts: equal registers store equal bytes.
    const unsigned registers = d.typed ? dwords(d.inst->src[1].type, w.size) : (x.bytes + 3u) / 4;
    for (unsigned r = 0; equal && r < registers; ++r) {
      std::uint32_t p = const_cast<Wave&>(w).vreg(x.data + r)[x.lane], q = const_cast<Wave&>(w).vreg(y.data + r)[y.lane];
      if (high) p >>= 16, q >>= 16;
      const std::uint32_t mask = x.bytes < 4 && !d.typed ? (1u << x.bytes * 8) - 1 : ~0u;
      equal = (p & mask) == (q & mask);
    }
    if (equal) continue;
    Slot first, second;
    first.thread = second.thread = group.waves[w.index_in_group].thread;
    first.inst = second.inst = d.id;
    first.write = second.write = 1;
    first.lane = x.lane & 63u;
    second.lane = y.lane & 63u;
    report(group, w, y, first, second, false);
  }
}

void Race::after(Wave& w, RaceGroup& group, const Described& d, const std::vector<Access>& accesses) {
  if (group.number >= kMaxGroups) return findings_.limit("race: more than 2^26 workgroups, the rest was not checked");
  RaceWave& me = group.waves[w.index_in_group];
  lanes_of_one_store(w, group, d, accesses);
  const Inst& i = *d.inst;
  const bool bypass = i.format != Format::ds && i.format != Format::smem && (i.glc || i.dlc || i.scope != 0) && d.op != MemoryOp::atomic;
  bool stored = false;
  std::uint64_t last_cell = ~std::uint64_t{0};
  for (std::size_t k = 0; k < accesses.size(); ++k) {
    const Access& a = accesses[k];
    if (a.space == Space::scratch || a.bytes == 0) continue;
    const bool cell = d.op == MemoryOp::atomic || (bypass && a.op == MemoryOp::load);
    if (cell && a.address != last_cell) {
      synchronise(group, me, d, a);
      last_cell = a.address;
    }
    Slot access;
    access.time = now_ & ((std::uint64_t{1} << 44) - 1);
    access.write = a.op != MemoryOp::load;
    access.rmw = a.op == MemoryOp::atomic;
    access.bypass = bypass;
    access.lane = a.lane & 63u;
    access.thread = me.thread;
    access.inst = d.id;
    if (a.op == MemoryOp::store) {
      stored |= a.space == Space::global;
      const std::byte* host = host_of(w, a);
      access.unchanged = host && std::memcmp(&old_[k * kSlotBytes], host, std::min<std::size_t>(a.bytes, kSlotBytes)) == 0;
    }
    const bool cached = a.op == MemoryOp::load && !bypass && !i.slc && i.temporal == 0 && i.format != Format::smem &&
                        a.space == Space::global;
    if (cached) stale(group, me, a, access);
    Shadow& shadow = a.space == Space::lds ? group.lds : global_;
    for (std::uint64_t at = a.address, end = a.address + a.bytes; at < end;) {
      const std::uint64_t n = std::min<std::uint64_t>(end, (at | 3) + 1) - at;
      access.mask = ((1u << n) - 1) << (at & 3) & 0xf;
      Shadow::Page* page = shadow.page(at / Shadow::kPageBytes);
      if (!page) {
        findings_.limit("race: more than 64 MiB touched, the rest was not checked");
        break;
      }
      const std::uint64_t word = at % Shadow::kPageBytes / 4;
      if (cell) page->synchronises[word] = true;
      touch(group, me, a, access, *page, word, w);
      at += n;
    }
  }
  if (!stored) return;
  auto& log = log_[me.thread];
  if (!log.empty() && log.back().released == me.released) return;
  log.push_back({now_, me.released});
  if (log.size() > kMaxSnapshots) log.pop_front();
}

}  // namespace kerncap::vgpu::isa::check
