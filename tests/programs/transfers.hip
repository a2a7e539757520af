// Money that moves between accounts in many streams at once, and never gets more or less: a snapshot that is torn shows it.
//
// Account i of a ledger and its counterpart count - 1 - i hold `whole` together. The two halves lie far apart, with `filler` between.
// `transfer` moves in one launch, on the device; `bank` is one dispatch of many that may be captured, with pointers to all ledgers. In
// another stream a copy engine writes a ledger whose halves are of one copy.
//
// A host thread numbers the words of a log in pinned host memory, in order, again and again, so that at every moment the first words
// have a number, the others the one before. The argument says how: `quiet` never, `paced` now and then, `busy` without a pause.
#include "program.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

constexpr int count = 1 << 15, whole = 1000, ledgers = 2, rounds = 60;
constexpr std::size_t filler = 24u << 20;

struct Ledger {
  int *left = nullptr, *right = nullptr;
};

__global__ void transfer(int* left, int* right, int amount) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  left[i] -= amount;
  right[count - 1 - i] += amount;
}

// What it does not use are arguments so that a test finds them.
__global__ void bank(int* left, int* right, int*, int*, int*, int*, int*, volatile int*) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  left[i] -= constant(3, 4);
  right[count - 1 - i] += 3;
}

static Ledger open_ledger() {
  Ledger ledger;
  void* between;
  HIP_CHECK(hipMalloc(&ledger.left, count * sizeof(int)));
  HIP_CHECK(hipMalloc(&between, filler));
  HIP_CHECK(hipMalloc(&ledger.right, count * sizeof(int)));
  HIP_CHECK(hipMemset(ledger.left, 0, count * sizeof(int)));
  const std::vector<int> full(count, whole);
  HIP_CHECK(hipMemcpy(ledger.right, full.data(), count * sizeof(int), hipMemcpyHostToDevice));
  return ledger;
}

static bool balanced(const Ledger& ledger) {
  std::vector<int> left(count), right(count);
  HIP_CHECK(hipMemcpy(left.data(), ledger.left, count * sizeof(int), hipMemcpyDeviceToHost));
  HIP_CHECK(hipMemcpy(right.data(), ledger.right, count * sizeof(int), hipMemcpyDeviceToHost));
  bool right_sum = true;
  for (int i = 0; i < count; ++i) right_sum &= left[i] + right[count - 1 - i] == whole;
  return right_sum;
}

int main(int, char** argv) {
  const std::string host_thread = argv[1];
  Ledger own = open_ledger(), others[ledgers];
  for (Ledger& ledger : others) ledger = open_ledger();
  int *copied, *pages[2];
  volatile int* log;
  HIP_CHECK(hipMalloc(&copied, 2 * count * sizeof(int)));
  HIP_CHECK(hipMemset(copied, 0, 2 * count * sizeof(int)));
  void* host;
  HIP_CHECK(hipHostMalloc(&host, 2 * count * sizeof(int)));
  log = static_cast<volatile int*>(host);
  for (int page = 0; page < 2; ++page) {
    HIP_CHECK(hipHostMalloc(&pages[page], 2 * count * sizeof(int)));
    for (int i = 0; i < count; ++i) {
      pages[page][i] = page == 0 ? i : -i;
      pages[page][2 * count - 1 - i] = whole - pages[page][i];
    }
  }
  for (int i = 0; i < 2 * count; ++i) log[i] = 0;
  HIP_CHECK(hipMemcpy(copied, pages[0], 2 * count * sizeof(int), hipMemcpyHostToDevice));
  HIP_CHECK(hipDeviceSynchronize());

  hipStream_t streams[ledgers + 2];
  for (hipStream_t& stream : streams) {
    HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));  // the null stream waits for others, and they for it
    transfer<<<count / 256, 256, 0, stream>>>(own.left, own.right, 0);  // its queue exists from now on
    HIP_CHECK(hipStreamSynchronize(stream));
  }
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int number = 0; number < ledgers; ++number) {
    threads.emplace_back([&, number] {
      const hipStream_t stream = streams[number];
      for (int amount = 1; !over; ++amount) {
        for (int i = 0; i < 4; ++i)
          transfer<<<count / 256, 256, 0, stream>>>(others[number].left, others[number].right, amount % 7 - 3);
        HIP_CHECK(hipStreamSynchronize(stream));
      }
    });
  }
  threads.emplace_back([&] {
    const hipStream_t stream = streams[ledgers + 1];
    for (int page = 1; !over; page = 1 - page) {
      HIP_CHECK(hipMemcpyAsync(copied, pages[page], 2 * count * sizeof(int), hipMemcpyHostToDevice, stream));
      HIP_CHECK(hipStreamSynchronize(stream));
    }
  });
  if (host_thread != "quiet") {
    threads.emplace_back([&] {
      for (int number = 1; !over; ++number) {
        for (int i = 0; i < 2 * count; ++i) log[i] = number;
        if (host_thread == "paced") std::this_thread::sleep_for(std::chrono::milliseconds(300));
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    bank<<<count / 256, 256, 0, streams[ledgers]>>>(own.left, own.right, others[0].left, others[0].right, others[1].left,
                                  others[1].right, copied, log);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipStreamSynchronize(streams[ledgers]));
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  HIP_CHECK(hipDeviceSynchronize());
  bool right = balanced(own);
  for (const Ledger& ledger : others) right &= balanced(ledger);
  return finish(right);
}
