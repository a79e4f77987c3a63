// What the fused steps quota. A selection is a mask: bit j % 32 of word j / 32 says whether element
// j goes. A block works on a tile of 8192 elements, a thread holds one word of its tile; a warp
// reads 32 elements at a time, one a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda_memory.cuh"
#include "kimesh/kernels/small_floats.h"

namespace kimesh::kernels {

constexpr std::size_t kTile = 8192;
constexpr std::size_t kTileWords = kTile / 32;
static_assert(kTileWords == kThreads, "a thread for each word");

struct StepHeader {
  Energies energies;
  Added added;
  std::uint32_t count;
  std::uint32_t finite;
};

// A selected element and its value.
struct Entry {
  std::uint32_t index;
  float value;
};

struct PassDownload {
  PassResult result;
  std::span<const Entry> entries;
};

// Memory of one step. header and entries lie in one piece, so that one copy brings both.
struct StepBuffers {
  StepHeader* header = nullptr;
  Entry* entries = nullptr;
  std::size_t capacity = 0;         // of entries
  std::uint32_t* mask = nullptr;    // by word, of whole tiles
  std::uint32_t* more = nullptr;    // a second selection that goes as well; may be null
  std::uint32_t* counts = nullptr;  // by tile; one more for the total
  double* partials = nullptr;       // two for each block of a pass
  std::size_t tiles = 0;
};

constexpr std::size_t kHeaderBytes = 64;
static_assert(sizeof(StepHeader) <= kHeaderBytes && sizeof(Entry) == 8);

// Takes the memory of a step over `size` elements whose passes have at most `blocks` blocks.
StepBuffers take_step(Carver& carver, std::size_t size, std::size_t capacity, std::size_t blocks);

// Which vectors a step works on.
struct StepJob {
  const float* target;
  float* estimate;
  std::size_t size;
  bool update;
};

// Puts the sums of `blocks` pairs of partial sums into the header: energies, and whether they are
// finite; or what was removed and what is left.
void queue_energies(StepHeader* header, const double* partials, std::size_t blocks,
                    cudaStream_t stream);
void queue_added(StepHeader* header, const double* partials, std::size_t blocks,
                 cudaStream_t stream);
// Number of selected elements of each tile, then their prefix sums: counts.
void queue_counts(const StepBuffers& step, cudaStream_t stream);
// Prefix sums of counts[0..size), the total behind them.
void queue_scan(std::uint32_t* counts, std::size_t size, cudaStream_t stream);
// Writes the entries that the mask and `counts` tell of, updates the estimate, closes the header.
void queue_entries(const StepBuffers& step, const StepJob& job, cudaStream_t stream);

void unpack(std::span<const Entry> found, Entries& entries);

// This thread's word: the bits of the elements in [begin, end) that meet the predicate. All threads
// of the block call it, with the tile's first element.
template <typename F>
__device__ std::uint32_t make_word(std::size_t tile_begin, std::size_t begin, std::size_t end,
                                   F predicate) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t first = tile_begin + threadIdx.x / kWarp * (kWarp * kWarp);
  std::uint32_t mine = 0;
#pragma unroll 8
  for (unsigned k = 0; k < kWarp; ++k) {
    const std::size_t j = first + k * kWarp + lane;
    const bool meets = j >= begin && j < end && predicate(j);
    const std::uint32_t bits = __ballot_sync(kAllLanes, meets);
    if (lane == k) mine = bits;
  }
  return mine;
}

// Calls f(k, word, j) in every lane for each word k of this warp that is not 0, in order; j is the
// lane's element. `mine` is this thread's word.
template <typename F>
__device__ void for_each_word(std::uint32_t mine, std::size_t tile_begin, F f) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t first = tile_begin + threadIdx.x / kWarp * (kWarp * kWarp);
  for (unsigned k = 0; k < kWarp; ++k) {
    const std::uint32_t word = __shfl_sync(kAllLanes, mine, k);
    if (word != 0) f(k, word, first + k * kWarp + lane);
  }
}

// Those bits of this thread's word whose elements meet the predicate.
template <typename F>
__device__ std::uint32_t filter_word(std::uint32_t mine, std::size_t tile_begin, F predicate) {
  const unsigned lane = threadIdx.x % kWarp;
  std::uint32_t kept = 0;
  for_each_word(mine, tile_begin, [&](unsigned k, std::uint32_t word, std::size_t j) {
    const bool meets = (word >> lane & 1) != 0 && predicate(j);
    const std::uint32_t bits = __ballot_sync(kAllLanes, meets);
    if (lane == k) kept = bits;
  });
  return kept;
}

// Adds up what the threads give and writes the block's two sums.
inline __device__ void write_partials(double first, double second, double* partials) {
  first = block_sum(first);
  second = block_sum(second);
  if (threadIdx.x != 0) return;
  partials[2 * blockIdx.x] = first;
  partials[2 * blockIdx.x + 1] = second;
}

// A quota on the device. Its blocks take the tiles of the whole vector that it touches.
struct Segment {
  std::size_t begin, end;
  std::uint32_t keep;
  std::uint32_t first_block;
};

struct Segments {
  const Segment* first = nullptr;
  std::uint32_t count = 0;
  std::size_t blocks = 0;  // of all
};

// Requires quotas that cover the vector in order.
[[nodiscard]] std::vector<Segment> segments_of(std::span<const Quota> quotas, std::size_t size);
[[nodiscard]] std::size_t blocks_of(std::span<const Segment> segments);

// What a block works on: a segment's part of a tile.
struct Part {
  std::uint32_t segment;
  std::size_t tile, tile_begin, begin, end;
};

inline __device__ Part part_of(const Segments& segments) {
  std::uint32_t low = 0, high = segments.count;  // the last segment that begins here or before
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (segments.first[middle].first_block <= blockIdx.x) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const Segment& segment = segments.first[low];
  Part part;
  part.segment = low;
  part.tile = segment.begin / kTile + (blockIdx.x - segment.first_block);
  part.tile_begin = part.tile * kTile;
  part.begin = part.tile_begin < segment.begin ? segment.begin : part.tile_begin;
  part.end = part.tile_begin + kTile < segment.end ? part.tile_begin + kTile : segment.end;
  return part;
}

// The bits of this thread's word that are elements of the part.
inline __device__ std::uint32_t word_of_part(const std::uint32_t* mask, const Part& part) {
  const std::size_t first = part.tile_begin + threadIdx.x * kWarp;
  std::uint32_t bits = kAllLanes;
  if (first + kWarp <= part.begin || first >= part.end) return 0;
  if (first < part.begin) bits <<= part.begin - first;
  if (first + kWarp > part.end) bits &= kAllLanes >> (first + kWarp - part.end);
  return mask[part.tile * kTileWords + threadIdx.x] & bits;
}

}  // namespace kimesh::kernels
