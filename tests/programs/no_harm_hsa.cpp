// Packets and errors that HIP does not make, beside a captured dispatch: `no_harm_hsa CODE_OBJECT SECTION...`.
// The last dispatch of `fill`, or that of `fill_later`, is the target of each section: 16 becomes 48.
#include "hsa_program.hpp"

#include <unistd.h>

namespace {

constexpr unsigned kThreads = 64;

std::uint32_t* sixteens(hsa_queue_t* q) {
  auto* out = allocate<std::uint32_t>(device_pool, kThreads);
  const hsa_signal_t done = signal(1);
  submit(q, packet(kernel("fill"), fill_arguments(out, 16), done, kThreads));
  return completed(done) ? out : nullptr;
}

bool holds(const std::uint32_t* out, std::uint32_t value) {
  auto* seen = allocate<std::uint32_t>(host_pool, kThreads);
  if (!copy(seen, cpu, out, gpu, kThreads * sizeof *seen)) return false;
  for (unsigned i = 0; i < kThreads; ++i)
    if (seen[i] != value) return false;
  return true;
}

// One batch for one bell: a barrier that waits for the host, and the target behind it.
bool barrier_first() {
  hsa_queue_t* const q = queue();
  auto* const out = sixteens(q);
  const hsa_signal_t gate = signal(1), done = signal(1);
  hsa_barrier_and_packet_t barrier = {};
  barrier.dep_signal[0] = gate;
  const auto target = packet(kernel("fill"), fill_arguments(out, 48), done, kThreads);
  const std::uint64_t index = hsa_queue_add_write_index_relaxed(q, 2);
  place(q, index + 1, &target, kDispatchHeader | (std::uint32_t{target.setup} << 16));
  place(q, index, &barrier, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER);
  hsa_signal_store_relaxed(q->doorbell_signal, static_cast<hsa_signal_value_t>(index + 1));
  usleep(500000);
  const bool waited = hsa_signal_load_relaxed(done) == 1;
  hsa_signal_store_screlease(gate, 0);
  return waited && completed(done) && holds(out, 48);
}

// A wave of another queue traps, before the target or behind it: the application's callback learns of it, and goes on.
bool beside_a_failing_queue(bool before) {
  hsa_queue_t *const q = queue(), *const other = queue();
  auto* const out = sixteens(q);
  auto* const unused = sixteens(other);
  const hsa_signal_t done = signal(1), never = signal(1);
  const Kernel trap = kernel("trap");
  const auto fail = [&] { submit(other, packet(trap, fill_arguments(unused, 1), never, kThreads)); };
  if (before) fail();
  submit(q, packet(kernel("fill"), fill_arguments(out, 48), done, kThreads));
  if (!before) fail();
  if (!completed(done)) return false;
  for (int i = 0; i < kPatienceMs && queue_error == 0; ++i) usleep(1000);
  return queue_error == HSA_STATUS_ERROR_EXCEPTION && holds(out, 48);
}

// While the target runs, which therefore lasts longer than other queues are held.
bool fails_meanwhile() {
  hsa_queue_t *const q = queue(), *const other = queue();
  auto* const out = sixteens(q);
  auto* const unused = sixteens(other);
  auto* const said = allocate<std::uint32_t>(host_pool, 1);
  *said = 0;
  const hsa_signal_t done = signal(1), never = signal(1);
  submit(q, packet(kernel("fill_later"), fill_arguments(out, 48, said), done, kThreads));
  submit(other, packet(kernel("trap"), fill_arguments(unused, 1), never, kThreads));
  for (int i = 0; i < kPatienceMs && queue_error == 0; ++i) usleep(1000);
  usleep(200000);  // that it gets about
  __atomic_store_n(said, 1, __ATOMIC_RELEASE);
  return queue_error == HSA_STATUS_ERROR_EXCEPTION && completed(done) && holds(out, 48);
}

// The runtime has one such queue for each GPU, and gives it to all who ask.
bool cooperative() {
  const auto ask = [] {
    hsa_queue_t* q = nullptr;
    HSA_CHECK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_COOPERATIVE, on_queue_error, nullptr, UINT32_MAX, UINT32_MAX, &q));
    return q;
  };
  const auto fill = [](hsa_queue_t* q, std::uint32_t* out) {
    const hsa_signal_t done = signal(1);
    submit(q, packet(kernel("fill"), fill_arguments(out, 48), done, kThreads));
    return completed(done) && holds(out, 48);
  };
  hsa_queue_t *const first = ask(), *const same = ask();
  auto* const out = sixteens(first);
  HSA_CHECK(hsa_queue_destroy(same));
  bool right = first == same && fill(first, out);
  HSA_CHECK(hsa_queue_destroy(first));
  hsa_queue_t* const again = ask();
  right = fill(again, sixteens(again)) && right;
  HSA_CHECK(hsa_queue_destroy(again));
  return right && queue_error == 0;
}

bool failed_before() { return beside_a_failing_queue(true); }
bool fails_behind() { return beside_a_failing_queue(false); }

}  // namespace

int main(int argc, char** argv) {
  return run_sections(argc, argv, {{"barrier_first", barrier_first}, {"failed_before", failed_before}, {"fails_behind", fails_behind},
                                   {"fails_meanwhile", fails_meanwhile}, {"cooperative", cooperative}});
}
