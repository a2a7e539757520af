#include "launcher.hpp"

namespace {
struct Fill {
  float* out;
  float value;
  __device__ void operator()(int i) const { out[i] = value; }
};
}  // namespace

void fill(float* out, int n) { cases::parallel_for(n, Fill{out, 1.0f}); }
