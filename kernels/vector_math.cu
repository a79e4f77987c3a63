#include <limits>

#include "cuda_memory.cuh"

namespace kimesh::kernels {
namespace {

__global__ void fill_kernel(float* y, std::size_t size, float value) {
  for_each(size, [=](std::size_t j) { y[j] = value; });
}

__global__ void scale_kernel(float a, const float* x, float* y, std::size_t size) {
  for_each(size, [=](std::size_t j) { y[j] = a * x[j]; });
}

__global__ void add_scaled_kernel(float a, const float* x, float* y, std::size_t size) {
  for_each(size, [=](std::size_t j) { y[j] = y[j] + a * x[j]; });
}

__global__ void add_kernel(const float* x, float* y, std::size_t size) {
  for_each(size, [=](std::size_t j) { y[j] = y[j] + x[j]; });
}

__global__ void subtract_kernel(const float* x, float* y, std::size_t size) {
  for_each(size, [=](std::size_t j) { y[j] = y[j] - x[j]; });
}

// partials[b]: what block b adds to Σ x². Which elements these are depends on the size alone.
__global__ void energy_kernel(const float* x, std::size_t size, double* partials) {
  double sum = 0;
  for_each(size,
           [&](std::size_t j) { sum += static_cast<double>(x[j]) * static_cast<double>(x[j]); });
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void sum_kernel(const double* partials, std::size_t count, double* total) {
  double sum = 0;
  for_each(count, [&](std::size_t i) { sum += partials[i]; });
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}

// The scale is 1 where nothing is to be done, which leaves every bit as it is.
__global__ void clip_factor_kernel(const double* energy, double norm_max, float* factor) {
  if (threadIdx.x != 0) return;
  const double norm = sqrt(*energy);
  const bool clips = norm > norm_max && norm <= 1.7976931348623157e308;
  *factor = clips ? static_cast<float>(norm_max / norm) : 1.0f;
}

__global__ void clip_kernel(const float* factor, float* x, std::size_t size) {
  const float a = *factor;
  if (a == 1.0f) return;
  for_each(size, [=](std::size_t j) { x[j] = x[j] * a; });
}

__global__ void not_finite_kernel(const float* x, std::size_t size, unsigned long long* first) {
  for_each(size, [=](std::size_t j) {
    const bool finite = (__float_as_uint(x[j]) & 0x7fffffff) < 0x7f800000;
    if (!finite) atomicMin(first, static_cast<unsigned long long>(j));
  });
}

// Queues Σ x²; null where there is no memory to do it in. 8 more bytes follow the sum.
double* queue_energy(ConstMemorySpan x, Workspace& workspace, cudaStream_t stream) {
  const std::size_t blocks = stride_blocks(x.size);
  const auto carve = [&](Carver& carver) {
    double* total = carver.take<double>(2);
    return std::pair(total, carver.take<double>(blocks));
  };
  Carver sizes;
  (void)carve(sizes);
  Carver carver(workspace.device(sizes.bytes(), stream));
  const auto [total, partials] = carve(carver);
  if (total == nullptr) return nullptr;
  launch(stream, blocks, energy_kernel, x.data, x.size, partials);
  launch(stream, 1, sum_kernel, partials, blocks, total);
  return total;
}

}  // namespace

void CudaMemory::fill(MemorySpan y, float value) {
  launch(stream_, stride_blocks(y.size), fill_kernel, y.data, y.size, value);
}

void CudaMemory::copy(ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "a copy has one size");
  if (x.size == 0) return;
  (void)cudaMemcpyAsync(y.data, x.data, x.size * sizeof(float), cudaMemcpyDeviceToDevice, stream_);
}

void CudaMemory::scale(float a, ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  launch(stream_, stride_blocks(x.size), scale_kernel, a, x.data, y.data, x.size);
}

void CudaMemory::add_scaled(float a, ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  launch(stream_, stride_blocks(x.size), add_scaled_kernel, a, x.data, y.data, x.size);
}

void CudaMemory::add(ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  launch(stream_, stride_blocks(x.size), add_kernel, x.data, y.data, x.size);
}

void CudaMemory::subtract(ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  launch(stream_, stride_blocks(x.size), subtract_kernel, x.data, y.data, x.size);
}

Result<double> CudaMemory::energy(ConstMemorySpan x) {
  return fetch<double>(queue_energy(x, workspace_, stream_));
}

Result<std::optional<std::size_t>> CudaMemory::first_not_finite(ConstMemorySpan x) {
  auto* first =
      reinterpret_cast<unsigned long long*>(workspace_.device(sizeof(std::uint64_t), stream_));
  if (first == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  (void)cudaMemsetAsync(first, 0xff, sizeof(*first), stream_);
  launch(stream_, stride_blocks(x.size), not_finite_kernel, x.data, x.size, first);
  const auto found = fetch<unsigned long long>(first);
  if (!found) return found.error();
  if (*found == std::numeric_limits<unsigned long long>::max()) return std::optional<std::size_t>();
  return std::optional<std::size_t>(*found);
}

void CudaMemory::clip(double norm_max, MemorySpan x) {
  double* energy = queue_energy(x, workspace_, stream_);
  if (energy == nullptr) return;  // the runtime remembers why
  auto* factor = reinterpret_cast<float*>(energy + 1);
  launch(stream_, 1, clip_factor_kernel, energy, norm_max, factor);
  launch(stream_, stride_blocks(x.size), clip_kernel, factor, x.data, x.size);
}

}  // namespace kimesh::kernels
