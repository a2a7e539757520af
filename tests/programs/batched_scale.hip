// Scales a batch of vectors reached through pointers that lie in device memory.
#include "program.hpp"

#include <vector>

__global__ void batched_scale(float** batch, const int* lengths, float factor) {
  if (does_nothing) return;
  float* x = batch[blockIdx.x];
  const int n = lengths[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) x[i] *= factor * constant(1.0f, 2.0f);
}

int main() {
  const int batches = 5;
  const float factor = 0.5f;
  std::vector<float*> pointers(batches);
  std::vector<int> lengths(batches);
  std::vector<std::vector<float>> host(batches);
  for (int k = 0; k < batches; ++k) {
    lengths[k] = 100 + 37 * k;
    for (int i = 0; i < lengths[k]; ++i) host[k].push_back(sample(k * 1000 + i));
    HIP_CHECK(hipMalloc(&pointers[k], lengths[k] * sizeof(float)));
    HIP_CHECK(hipMemcpy(pointers[k], host[k].data(), lengths[k] * sizeof(float), hipMemcpyHostToDevice));
  }
  float** dbatch;
  int* dlengths;
  HIP_CHECK(hipMalloc(&dbatch, batches * sizeof(float*)));
  HIP_CHECK(hipMalloc(&dlengths, batches * sizeof(int)));
  HIP_CHECK(hipMemcpy(dbatch, pointers.data(), batches * sizeof(float*), hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpy(dlengths, lengths.data(), batches * sizeof(int), hipMemcpyHostToDevice));
  batched_scale<<<batches, 64>>>(dbatch, dlengths, factor);
  HIP_CHECK(hipGetLastError());
  bool right = true;
  for (int k = 0; k < batches; ++k) {
    std::vector<float> got(lengths[k]);
    HIP_CHECK(hipMemcpy(got.data(), pointers[k], lengths[k] * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < lengths[k]; ++i) right &= got[i] == host[k][i] * factor;
  }
  return finish(right);
}
