// A thread for each element of a chunk: a block of the message, or four of int4.
#include <algorithm>

#include "cuda_select.cuh"

namespace kimesh::kernels {
namespace {

constexpr std::size_t kChunk = 256;
static_assert(kChunk == kThreads, "a thread for each element");
constexpr std::size_t kSpan = 16 * kChunk;  // that a block of threads goes through
constexpr unsigned kPartialSums = 8;
constexpr unsigned kInt4Block = 64;

__device__ void write16(std::uint8_t* bytes, std::uint16_t value) {
  bytes[0] = static_cast<std::uint8_t>(value);
  bytes[1] = static_cast<std::uint8_t>(value >> 8);
}
__device__ std::uint16_t read16(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

// What the block's 256 threads hold of the chunk.
struct Chunk {
  std::size_t size;  // elements; the threads beyond them hold 0
  float difference;  // of this thread's element
  Rounding rounding;
  std::uint8_t* out;  // the chunk's bytes
};

__device__ void write_bfloat16(const Chunk& c) {
  if (threadIdx.x < c.size) write16(c.out + 2 * threadIdx.x, to_bfloat16(c.difference, c.rounding));
}

// The sum of the threads' numbers, for every thread. It is made of 8 partial sums, as on the CPU.
__device__ double sum_of(double x) {
  __shared__ double all[kChunk];
  __shared__ double sums[kPartialSums];
  all[threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x < kPartialSums) {
    double sum = 0;
    for (unsigned j = threadIdx.x; j < kChunk; j += kPartialSums) sum += all[j];
    sums[threadIdx.x] = sum;
  }
  __syncthreads();
  const double total =
      ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  __syncthreads();  // the next sum uses the same shared memory
  return total;
}

// Of the magnitudes of `count` threads; those of the others are 0.
__device__ std::uint16_t mean_code(double magnitude, double count) {
  return to_bfloat16(static_cast<float>(sum_of(magnitude) / count), Rounding::kNearest);
}

__device__ void write_bits(bool is_one, std::size_t size, std::uint8_t* out) {
  const std::uint32_t bits = __ballot_sync(kAllLanes, is_one);
  if (threadIdx.x % 8 == 0 && threadIdx.x < size)
    out[threadIdx.x / 8] = static_cast<std::uint8_t>(bits >> threadIdx.x % kWarp);
}

__device__ void write_sign(const Chunk& c) {
  const std::uint16_t code = mean_code(fabsf(c.difference), static_cast<double>(c.size));
  if (threadIdx.x == 0) write16(c.out, code);
  write_bits(c.difference < 0, c.size, c.out + 2);
}

__device__ void write_sign2(const Chunk& c) {
  const double magnitude = fabsf(c.difference), size = static_cast<double>(c.size);
  const auto limit = static_cast<float>(sqrt(sum_of(magnitude * magnitude) / size));
  const bool is_large = magnitude > static_cast<double>(limit);
  const double count = sum_of(is_large ? 1 : 0);
  const std::uint16_t small = mean_code(is_large ? 0 : magnitude, size - count);
  const std::uint16_t large = mean_code(is_large ? magnitude : 0, count);
  if (threadIdx.x == 0) {
    const std::uint16_t low = count < size ? small : 0;
    write16(c.out, low);
    write16(c.out + 2, count > 0 ? large : low);
  }
  write_bits(c.difference < 0, c.size, c.out + 4);
  write_bits(is_large, c.size, c.out + 4 + code_bytes(BlockFormat::kSign, c.size));
}

__device__ std::int32_t signed_level(float difference, std::uint16_t code, float level_max,
                                     Rounding rounding) {
  const std::int32_t level = level_of(fabsf(difference), from_bfloat16(code), level_max, rounding);
  return difference < 0 ? -level : level;
}

// The scale code of this thread's block, of which a chunk has kThreads / per_block.
__device__ std::uint16_t scale_code(const Chunk& c, unsigned per_block, float level_max) {
  __shared__ std::uint32_t largest[kChunk / kInt4Block];
  const unsigned block = threadIdx.x / per_block;
  if (threadIdx.x < kChunk / kInt4Block) largest[threadIdx.x] = 0;
  __syncthreads();
  atomicMax(&largest[block], magnitude_bits(c.difference));
  __syncthreads();
  return level_scale(__uint_as_float(largest[block]), level_max);
}

__device__ void write_int8(const Chunk& c) {
  constexpr float kMax = 127;
  const std::uint16_t code = scale_code(c, kChunk, kMax);
  if (threadIdx.x == 0) write16(c.out, code);
  if (threadIdx.x < c.size)
    c.out[2 + threadIdx.x] =
        static_cast<std::uint8_t>(signed_level(c.difference, code, kMax, c.rounding));
}

__device__ void write_int4(const Chunk& c) {
  constexpr float kMax = 7;
  constexpr std::size_t kStride = 2 + kInt4Block / 2;
  const std::uint16_t code = scale_code(c, kInt4Block, kMax);
  const unsigned at = threadIdx.x % kInt4Block;
  std::uint8_t* out = c.out + threadIdx.x / kInt4Block * kStride;
  const std::int32_t level = signed_level(c.difference, code, kMax, c.rounding) & 15;
  const std::int32_t next = __shfl_down_sync(kAllLanes, level, 1);
  if (threadIdx.x >= c.size) return;
  if (at == 0) write16(out, code);
  if (at % 2 == 0) out[2 + at / 2] = static_cast<std::uint8_t>(level | next << 4);
}

__device__ void write_chunk(BlockFormat blocks, const Chunk& chunk) {
  switch (blocks) {
    case BlockFormat::kBfloat16:
      return write_bfloat16(chunk);
    case BlockFormat::kSign:
      return write_sign(chunk);
    case BlockFormat::kSign2:
      return write_sign2(chunk);
    case BlockFormat::kInt8:
      return write_int8(chunk);
    case BlockFormat::kInt4:
      return write_int4(chunk);
  }
}

__global__ void quantise_kernel(BlockFormat blocks, Rounding rounding, StepJob job,
                                std::uint8_t* bytes, double* partials) {
  double wanted = 0, missing = 0;
  const std::size_t first = blockIdx.x * kSpan;
  const std::size_t last = first + kSpan < job.size ? first + kSpan : job.size;
  for (std::size_t begin = first; begin < last; begin += kChunk) {
    const std::size_t j = begin + threadIdx.x, rest = last - begin;
    const float t = j < last ? job.target[j] : 0;
    const float d = j < last ? t - job.estimate[j] : 0;
    wanted += static_cast<double>(t) * static_cast<double>(t);
    missing += static_cast<double>(d) * static_cast<double>(d);
    write_chunk(blocks, {rest < kChunk ? rest : kChunk, d, rounding,
                         bytes + quantised_bytes(blocks, begin)});
    __syncthreads();  // the next chunk uses the same shared memory
  }
  write_partials(wanted, missing, partials);
}

// What a block of `size` elements says of element `at`.
__device__ float decoded_sign2(const std::uint8_t* in, std::size_t size, std::size_t at) {
  const std::uint8_t* larger = in + 4 + code_bytes(BlockFormat::kSign, size);
  const bool is_large = (larger[at / 8] >> at % 8 & 1) != 0;
  const float scale = from_bfloat16(read16(is_large ? in + 2 : in));
  return (in[4 + at / 8] >> at % 8 & 1) != 0 ? -scale : scale;
}

// What the bytes of `size` elements say of element j.
__device__ float decoded(BlockFormat blocks, const std::uint8_t* bytes, std::size_t size,
                         std::size_t j) {
  const std::size_t block = j / block_elements(blocks), at = j % block_elements(blocks);
  const std::size_t rest = size - block * block_elements(blocks);
  const std::uint8_t* in = bytes + quantised_bytes(blocks, block * block_elements(blocks));
  if (blocks == BlockFormat::kBfloat16) return from_bfloat16(read16(in + 2 * at));
  const float scale = from_bfloat16(read16(in));
  if (blocks == BlockFormat::kSign) return (in[2 + at / 8] >> at % 8 & 1) != 0 ? -scale : scale;
  if (blocks == BlockFormat::kSign2) return decoded_sign2(in, rest < kChunk ? rest : kChunk, at);
  if (blocks == BlockFormat::kInt8)
    return static_cast<float>(static_cast<std::int8_t>(in[2 + at])) * scale;
  const std::int32_t nibble = in[2 + at / 2] >> 4 * (at % 2) & 15;
  return static_cast<float>((nibble ^ 8) - 8) * scale;
}

// `header` and `partials` are null at the receiver, who has checked the bytes.
__global__ void add_blocks_kernel(BlockFormat blocks, StepJob job, const std::uint8_t* bytes,
                                  const StepHeader* header, double* partials) {
  if (header != nullptr && header->finite == 0) job.size = 0;
  double left = 0;
  const std::size_t first = blockIdx.x * kSpan;
  const std::size_t last = first + kSpan < job.size ? first + kSpan : job.size;
  for (std::size_t j = first + threadIdx.x; j < last; j += kThreads) {
    const float after = job.estimate[j] + decoded(blocks, bytes, job.size, j);
    job.estimate[j] = after;
    if (partials == nullptr) continue;
    const float rest = job.target[j] - after;  // rounded, as on the CPU
    left += static_cast<double>(rest) * static_cast<double>(rest);
  }
  if (partials != nullptr) write_partials(0, left, partials);
}

struct BlockBuffers {
  StepHeader* header;
  std::uint8_t* bytes;
  double* partials;
};

BlockBuffers take_blocks(Carver& carver, std::size_t bytes, std::size_t spans) {
  auto* memory = carver.take<std::byte>(kHeaderBytes + bytes);
  BlockBuffers buffers;
  buffers.header = reinterpret_cast<StepHeader*>(memory);
  buffers.bytes =
      memory == nullptr ? nullptr : reinterpret_cast<std::uint8_t*>(memory + kHeaderBytes);
  buffers.partials = carver.take<double>(2 * spans);
  return buffers;
}

}  // namespace

Result<PassResult> CudaMemory::quantise(BlockFormat blocks, Rounding rounding,
                                        ConstMemorySpan target, MemorySpan estimate,
                                        std::span<std::byte> bytes) {
  KIMESH_CHECK(target.size == estimate.size, "a difference has the size of both sides");
  KIMESH_CHECK(bytes.size() == quantised_bytes(blocks, target.size), "room for all blocks");
  if (target.size == 0) return PassResult{};
  const std::size_t spans = ceil_div(target.size, kSpan);
  Carver needed;
  (void)take_blocks(needed, bytes.size(), spans);
  Carver carver(workspace_.device(needed.bytes(), stream_));
  const BlockBuffers made = take_blocks(carver, bytes.size(), spans);
  std::byte* host = workspace_.host(kHeaderBytes + bytes.size(), stream_);
  if (made.header == nullptr || host == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  const StepJob job = {target.data, estimate.data, target.size, true};
  launch(stream_, spans, quantise_kernel, blocks, rounding, job, made.bytes, made.partials);
  queue_energies(made.header, made.partials, spans, stream_);
  launch(stream_, spans, add_blocks_kernel, blocks, job, made.bytes, made.header, made.partials);
  queue_added(made.header, made.partials, spans, stream_);
  (void)cudaMemcpyAsync(host, made.header, kHeaderBytes + bytes.size(), cudaMemcpyDeviceToHost,
                        stream_);
  if (Status done = wait(); !done) return done.error();
  std::copy_n(host + kHeaderBytes, bytes.size(), bytes.begin());
  const auto& header = *reinterpret_cast<const StepHeader*>(host);
  return PassResult{header.energies, header.added};
}

void CudaMemory::add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                               MemorySpan estimate) {
  KIMESH_CHECK(bytes.size() == quantised_bytes(blocks, estimate.size), "bytes of all blocks");
  if (bytes.empty()) return;
  auto* held = reinterpret_cast<std::uint8_t*>(workspace_.device(bytes.size(), stream_));
  if (held == nullptr) return;  // the runtime remembers why
  upload_bytes(bytes, held);
  launch(stream_, ceil_div(estimate.size, kSpan), add_blocks_kernel, blocks,
         StepJob{nullptr, estimate.data, estimate.size, true}, held, nullptr, nullptr);
}

}  // namespace kimesh::kernels
