// The twin of util/digest.cpp: eight threads a chunk, one for each lane of XXH3.
#include "cuda_memory.cuh"
#include "kimesh/util/digest_chunk.h"

namespace kimesh::kernels {
namespace {

constexpr unsigned kChunksPerBlock = kThreads / kDigestLanes;

// Word `i` of x filled up with zeros: two floats.
__device__ std::uint64_t word(const float* x, std::size_t size, std::size_t i) {
  const std::size_t j = 2 * i;
  const std::uint64_t low = j < size ? __float_as_uint(x[j]) : 0;
  const std::uint64_t high = j + 1 < size ? __float_as_uint(x[j + 1]) : 0;
  return low | high << 32;
}

__global__ void digest_kernel(const float* x, std::size_t size, std::size_t chunks,
                              DigestSecret secret_in, unsigned long long* sum) {
  __shared__ DigestSecret secret;
  if (threadIdx.x < secret.size()) secret[threadIdx.x] = secret_in[threadIdx.x];
  __syncthreads();
  const unsigned i = threadIdx.x % kDigestLanes;
  const std::size_t chunk = std::size_t{blockIdx.x} * kChunksPerBlock + threadIdx.x / kDigestLanes;
  std::uint64_t lane = digest_lane_start(i);
  if (chunk < chunks) {
    const std::size_t first = chunk * (kDigestStripes * kDigestLanes);
#pragma unroll 8
    for (unsigned s = 0; s < kDigestStripes; ++s) {
      const std::size_t stripe = first + s * kDigestLanes;
      lane = digest_lane(lane, i, s, word(x, size, stripe + i), word(x, size, stripe + (i ^ 1)),
                         secret);
    }
  }
  // All threads of the warp take part in what follows, those beyond the last chunk as well.
  const std::uint64_t odd = __shfl_down_sync(kAllLanes, lane, 1);
  std::uint64_t pairs = i % 2 == 0 ? digest_lane_pair(lane, odd, i / 2, secret) : 0;
  for (unsigned step = kDigestLanes / 2; step > 1; step /= 2)
    pairs += __shfl_down_sync(kAllLanes, pairs, step);
  if (i == 0 && chunk < chunks)
    atomicAdd(sum, static_cast<unsigned long long>(digest_place(digest_chunk(pairs), chunk)));
}

}  // namespace

Result<std::uint64_t> CudaMemory::digest(ConstMemorySpan x) {
  auto* sum =
      reinterpret_cast<unsigned long long*>(workspace_.device(sizeof(std::uint64_t), stream_));
  if (sum == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  (void)cudaMemsetAsync(sum, 0, sizeof(*sum), stream_);
  const std::size_t chunks = ceil_div(x.size, kDigestChunkFloats);
  launch(stream_, ceil_div(chunks, kChunksPerBlock), digest_kernel, x.data, x.size, chunks,
         kDigestSecret, sum);
  const auto total = fetch<unsigned long long>(sum);
  if (!total) return total.error();
  return digest_finish(*total, x.size);
}

}  // namespace kimesh::kernels
