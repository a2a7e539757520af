// Runs llama.cpp's mul_mat_vec_q of mmvq.cu.o on a random matrix of Q4_K, without the rest of the HIP backend: what that would give
// it (which device, which context) is defined here. Compared with the dequantised matrix on the CPU; the vector is quantised
// to 8 bits on the way, so that the results agree to a per cent or so. Built and run by tests/apps/test_mmvq_source.py.
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "common.cuh"
#include "mmvq.cuh"
#include "quantize.cuh"

namespace {

void require(hipError_t status) {
  if (status == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(status));
  std::exit(2);
}

ggml_cuda_device_info info_of_this_device() {
  hipDeviceProp_t properties;
  require(hipGetDeviceProperties(&properties, 0));
  ggml_cuda_device_info info{};
  info.device_count = 1;
  info.devices[0].cc = GGML_CUDA_CC_OFFSET_AMD + static_cast<int>(std::strtol(properties.gcnArchName + 3, nullptr, 16));
  info.devices[0].warp_size = properties.warpSize;
  info.devices[0].nsm = properties.multiProcessorCount;
  info.devices[0].smpb = properties.sharedMemPerBlock;
  return info;
}

template <class T>
T* to_device(const std::vector<T>& values) {
  T* data = nullptr;
  require(hipMalloc(&data, values.size() * sizeof(T)));
  require(hipMemcpy(data, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return data;
}

}  // namespace

const ggml_cuda_device_info& ggml_cuda_info() {
  static const ggml_cuda_device_info info = info_of_this_device();
  return info;
}
int ggml_cuda_get_device() { return 0; }
void ggml_cuda_set_device(int) {}
[[noreturn]] void ggml_cuda_error(const char* stmt, const char* func, const char* file, int line, const char* msg) {
  std::printf("%s:%d: %s: %s: %s\n", file, line, func, stmt, msg);
  std::exit(2);
}

std::unique_ptr<ggml_cuda_pool> ggml_backend_cuda_context::new_pool_for_device(int, int) { std::abort(); }

int main() {
  constexpr std::int64_t columns = 1024, rows = 96;
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> matrix(rows * columns), vector(columns);
  for (float& v : matrix) v = normal(random);
  for (float& v : vector) v = normal(random);

  const ggml_type type = GGML_TYPE_Q4_K;
  std::vector<char> quantised(ggml_row_size(type, columns) * rows);
  ggml_quantize_chunk(type, matrix.data(), quantised.data(), 0, rows, columns, nullptr);
  std::vector<float> exact(columns), expected(rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    ggml_get_type_traits(type)->to_float(quantised.data() + row * ggml_row_size(type, columns), exact.data(), columns);
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += double(exact[i]) * vector[i];
    expected[row] = static_cast<float>(sum);
  }

  const char* const weights = to_device(quantised);
  const float* const activations = to_device(vector);
  char* const activations_q8 = to_device(std::vector<char>(columns * sizeof(block_q8_1) / QK8_1));
  float* const out = to_device(std::vector<float>(rows));
  quantize_row_q8_1_cuda(activations, nullptr, activations_q8, type, columns, columns, columns, columns, columns, 1, 1, 1, nullptr);
  ggml_tensor src0{}, src1{}, dst{};
  src0.type = type, src0.ne[0] = columns, src0.ne[1] = rows;
  src1.type = GGML_TYPE_F32, src1.ne[0] = columns, src1.ne[1] = 1;
  dst.type = GGML_TYPE_F32, dst.ne[0] = rows, dst.ne[1] = 1;
  // Of the context only the number of the device is read; its destructor is that of the backend.
  alignas(ggml_backend_cuda_context) static char storage[sizeof(ggml_backend_cuda_context)];
  auto& context = *reinterpret_cast<ggml_backend_cuda_context*>(storage);
  context.device = 0;
  ggml_cuda_op_mul_mat_vec_q(context, &src0, &src1, &dst, weights, activations, activations_q8, out, 0, rows, 1, columns, nullptr);
  std::vector<float> got(rows);
  require(hipMemcpy(got.data(), out, rows * sizeof(float), hipMemcpyDeviceToHost));
  double error = 0, scale = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    error += std::pow(got[row] - expected[row], 2);
    scale += std::pow(expected[row], 2);
  }
  const double relative = std::sqrt(error / scale);
  std::printf("relative error %.4f\n%s\n", relative, relative < 0.02 ? "EXIT-SUCCESS" : "EXIT-WRONG-RESULT");
  return relative < 0.02 ? 0 : 1;
}
