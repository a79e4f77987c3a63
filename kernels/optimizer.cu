// A thread for each element.
#include "cuda_memory.cuh"

namespace kimesh::kernels {
namespace {

__global__ void momentum_kernel(float m, const float* gradient, float* velocity, std::size_t size) {
  for_each(size, [=](std::size_t j) { velocity[j] = m * velocity[j] + gradient[j]; });
}

__global__ void nesterov_kernel(float m, float* gradient, float* velocity, std::size_t size) {
  for_each(size, [=](std::size_t j) {
    velocity[j] = m * velocity[j] + gradient[j];
    gradient[j] = gradient[j] + m * velocity[j];
  });
}

__global__ void sgd_kernel(float rate, const float* direction, float* x, std::size_t size) {
  for_each(size, [=](std::size_t j) { x[j] = x[j] - rate * direction[j]; });
}

// The operations of the CPU version, in its order. Root and quotient are rounded
// correctly here as there.
__global__ void adamw_kernel(AdamwFactors a, const float* direction, float* m, float* v, float* x,
                             std::size_t size) {
  for_each(size, [=](std::size_t j) {
    const float g = direction[j];
    m[j] = m[j] + a.new_share1 * (g - m[j]);
    v[j] = a.old_share2 * v[j] + a.new_share2 * (g * g);
    const float denominator = sqrtf(v[j]) / a.root2 + a.epsilon;
    x[j] = x[j] * a.shrink - a.size_of_step * (m[j] / denominator);
  });
}

}  // namespace

void CudaMemory::momentum(float m, ConstMemorySpan gradient, MemorySpan velocity) {
  KIMESH_CHECK(gradient.size == velocity.size, "one size");
  launch(stream_, stride_blocks(gradient.size), momentum_kernel, m, gradient.data, velocity.data,
         gradient.size);
}

void CudaMemory::nesterov(float m, MemorySpan gradient, MemorySpan velocity) {
  KIMESH_CHECK(gradient.size == velocity.size, "one size");
  launch(stream_, stride_blocks(gradient.size), nesterov_kernel, m, gradient.data, velocity.data,
         gradient.size);
}

void CudaMemory::sgd(float rate, ConstMemorySpan direction, MemorySpan x) {
  KIMESH_CHECK(direction.size == x.size, "one size");
  launch(stream_, stride_blocks(x.size), sgd_kernel, rate, direction.data, x.data, x.size);
}

void CudaMemory::adamw(const AdamwFactors& factors, ConstMemorySpan direction, MemorySpan first,
                       MemorySpan second, MemorySpan x) {
  KIMESH_CHECK(direction.size == x.size && first.size == x.size && second.size == x.size,
               "one size");
  launch(stream_, stride_blocks(x.size), adamw_kernel, factors, direction.data, first.data,
         second.data, x.data, x.size);
}

}  // namespace kimesh::kernels
