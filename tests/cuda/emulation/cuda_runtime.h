// As much of CUDA as kimesh's kernels use, on the CPU: what stands in for NVIDIA's header of this
// name when g++ compiles kernels/*.cu for the tests. So the logic of every kernel runs on any
// machine, under the sanitizers as well. It is slow, and it tells nothing about memory ordering
// between blocks or about speed: that needs a GPU.
//
// Blocks run one after another, the threads of a block take turns: one runs until it waits for its
// warp or its block. Every other launch takes blocks and threads in descending order, so that a
// missing barrier shows. Threads that wait for what cannot come (a lane that left, or that waits
// for the block while its warp needs it) end the process.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static  // of one block at a time

struct dim3 {
  dim3(unsigned x_in = 1) : x(x_in) {}  // NOLINT: as CUDA's
  unsigned x;
};
struct EmulatedStream;
using cudaStream_t = EmulatedStream*;
enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
struct cudaDeviceProp {
  char name[256];
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  cudaStream_t stream;
};

extern dim3 threadIdx, blockIdx, gridDim;

namespace kimesh::emulation {

// Runs all blocks to their end. Requires threads to be a multiple of 32.
void run(unsigned blocks, unsigned threads, const std::function<void()>& kernel);
void wait_for_block();
// Every lane's value of this operation, once all lanes of the warp have given theirs.
const std::uint64_t* exchange(std::uint64_t mine);
void* allocate(std::size_t bytes);  // filled with what no kernel can take for zeros
// Lets so many more allocations succeed, and none after them.
void limit_allocations(std::size_t count);

template <typename T>
T lane_value(const std::uint64_t* values, unsigned lane) {
  T value;
  std::memcpy(&value, &values[lane], sizeof(T));
  return value;
}
template <typename T>
const std::uint64_t* exchange_value(T x) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(T));
  return exchange(bits);
}

}  // namespace kimesh::emulation

template <typename... P, typename... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A... a) {
  kimesh::emulation::run(config->gridDim.x, config->blockDim.x, [=] { kernel(a...); });
  return cudaSuccess;
}

inline void __syncthreads() {
  kimesh::emulation::wait_for_block();
}
template <typename T>
T __shfl_down_sync(unsigned, T x, unsigned step) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t* all = kimesh::emulation::exchange_value(x);
  return kimesh::emulation::lane_value<T>(all, lane + step < 32 ? lane + step : lane);
}
template <typename T>
T __shfl_up_sync(unsigned, T x, unsigned step) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t* all = kimesh::emulation::exchange_value(x);
  return kimesh::emulation::lane_value<T>(all, lane >= step ? lane - step : lane);
}
template <typename T>
T __shfl_sync(unsigned, T x, unsigned from) {
  return kimesh::emulation::lane_value<T>(kimesh::emulation::exchange_value(x), from % 32);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  const std::uint64_t* all = kimesh::emulation::exchange(predicate != 0 ? 1 : 0);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}

// One thread runs at a time, so that plain operations are atomic.
template <typename T>
T atomicAdd(T* at, T x) {
  const T old = *at;
  *at = old + x;
  return old;
}
template <typename T>
T atomicMin(T* at, T x) {
  const T old = *at;
  *at = std::min(old, x);
  return old;
}
template <typename T>
T atomicMax(T* at, T x) {
  const T old = *at;
  *at = std::max(old, x);
  return old;
}
inline unsigned atomicOr(unsigned* at, unsigned x) {
  const unsigned old = *at;
  *at = old | x;
  return old;
}
inline unsigned atomicAnd(unsigned* at, unsigned x) {
  const unsigned old = *at;
  *at = old & x;
  return old;
}

inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __ffs(unsigned x) {
  return x == 0 ? 0 : std::countr_zero(x) + 1;
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}

inline const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "out of memory";
}
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "emulated on the CPU");
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = kimesh::emulation::allocate(bytes);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
