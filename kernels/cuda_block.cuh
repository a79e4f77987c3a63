// What kernels share: how they are started, and what the threads of a block do together.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace kimesh::kernels {

constexpr unsigned kWarp = 32;
constexpr unsigned kThreads = 256;  // of every block
constexpr unsigned kWarps = kThreads / kWarp;
constexpr unsigned kAllLanes = 0xffffffff;

// Starts `blocks` blocks of kThreads. An error stays with the runtime until somebody asks.
template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, std::size_t blocks, void (*kernel)(Parameters...),
            Arguments... arguments) {
  if (blocks == 0) return;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  (void)cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// Blocks for one pass over `size` elements where each thread strides: enough to fill any GPU.
constexpr std::size_t stride_blocks(std::size_t size) {
  const std::size_t needed = ceil_div(size, kThreads);
  return needed < 4096 ? needed : 4096;
}

// Calls f(j) for this thread's elements of a pass with stride_blocks.
template <typename F>
__device__ void for_each(std::size_t size, F f) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t j = std::size_t{blockIdx.x} * kThreads + threadIdx.x; j < size; j += stride)
    f(j);
}

// The sum over the block, in thread 0; the same order always. All threads call it.
template <typename T>
__device__ T block_sum(T x) {
  __shared__ T sums[kWarps];
  for (unsigned step = kWarp / 2; step > 0; step /= 2) x += __shfl_down_sync(kAllLanes, x, step);
  if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = x;
  __syncthreads();
  T total = 0;
  if (threadIdx.x == 0)
    for (unsigned w = 0; w < kWarps; ++w) total += sums[w];
  __syncthreads();  // the next call may write again
  return total;
}

struct Scanned {
  std::uint32_t before;  // of the threads before this one
  std::uint32_t total;
};

// Prefix sums over the block. All threads call it.
inline __device__ Scanned block_scan(std::uint32_t x) {
  __shared__ std::uint32_t sums[kWarps];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  std::uint32_t inclusive = x;
  for (unsigned step = 1; step < kWarp; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(kAllLanes, inclusive, step);
    if (lane >= step) inclusive += other;
  }
  if (lane == kWarp - 1) sums[warp] = inclusive;
  __syncthreads();
  Scanned scanned = {inclusive - x, 0};
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < warp) scanned.before += sums[w];
    scanned.total += sums[w];
  }
  __syncthreads();
  return scanned;
}

}  // namespace kimesh::kernels
