// The exact k largest of each quota, without a word to the host in between. A radix selection on
// the magnitudes' bits, 11, 10 and 10 of them: the first pass counts all elements, the second marks
// the candidates (what reaches the k-th largest's first digit), the others look at these alone.
#include <algorithm>

#include "cuda_select.cuh"

namespace kimesh::kernels {
namespace {

constexpr unsigned kBins = 2048;
constexpr unsigned kBinsPerThread = kBins / kThreads;
constexpr unsigned kFirstShift = 20;  // 31 bits less the first digit's 11
constexpr unsigned kLowerBits = 10;   // of the other two digits

// What is known of a segment's k-th largest.
struct Choice {
  std::uint32_t keep;    // k
  std::uint32_t key;     // the digits found so far
  std::uint32_t larger;  // how many keys are above them
  std::uint32_t all;     // k and more are not 0: 0. Else everything goes that is not 0: 1.
};

struct SelectBuffers {
  const float* target = nullptr;
  const float* estimate = nullptr;
  Segments segments;
  std::uint32_t* histogram = nullptr;  // kBins a segment
  Choice* choices = nullptr;
  std::uint32_t* mask = nullptr;            // the selection
  const std::uint32_t* excluded = nullptr;  // elements that do not stand for selection; or null
  std::uint32_t* ties = nullptr;            // a mask: the k-th largest and its equals
  std::uint32_t* tie_counts = nullptr;      // by block
};

__device__ std::uint32_t key_at(const SelectBuffers& select, std::size_t j) {
  return magnitude_bits(select.target[j] - select.estimate[j]);
}

__device__ bool stands(const SelectBuffers& select, std::size_t j) {
  return select.excluded == nullptr || (select.excluded[j / 32] >> j % 32 & 1) == 0;
}

__device__ void clear_bins(std::uint32_t* bins) {
  for (unsigned b = threadIdx.x; b < kBins; b += kThreads) bins[b] = 0;
  __syncthreads();
}

__device__ void add_bins(const std::uint32_t* bins, std::uint32_t* histogram) {
  __syncthreads();
  for (unsigned b = threadIdx.x; b < kBins; b += kThreads)
    if (bins[b] != 0) atomicAdd(&histogram[b], bins[b]);
}

// Counts the first digits of all that is not 0. `partials` may be null.
__global__ void survey_kernel(SelectBuffers select, double* partials) {
  __shared__ std::uint32_t bins[kBins];
  clear_bins(bins);
  const Part part = part_of(select.segments);
  double wanted = 0, missing = 0;
  (void)make_word(part.tile_begin, part.begin, part.end, [&](std::size_t j) {
    const float t = select.target[j];
    const float d = t - select.estimate[j];
    wanted += static_cast<double>(t) * static_cast<double>(t);
    missing += static_cast<double>(d) * static_cast<double>(d);
    const std::uint32_t key = magnitude_bits(d);
    if (key != 0 && stands(select, j)) atomicAdd(&bins[key >> kFirstShift], 1u);
    return false;
  });
  add_bins(bins, select.histogram + part.segment * kBins);
  if (partials != nullptr) write_partials(wanted, missing, partials);
}

// A block for each segment: the next digit of its k-th largest. Leaves the histogram empty.
__global__ void choose_kernel(SelectBuffers select, unsigned bits) {
  Choice& choice = select.choices[blockIdx.x];
  std::uint32_t* histogram = select.histogram + blockIdx.x * kBins;
  const unsigned top = kBins - 1 - threadIdx.x * kBinsPerThread;  // from the largest down
  std::uint32_t mine = 0;
  for (unsigned b = 0; b < kBinsPerThread; ++b) mine += histogram[top - b];
  const Scanned scanned = block_scan(mine);
  const std::uint32_t larger = choice.larger, keep = choice.keep, key = choice.key;
  const bool all = choice.all != 0 || scanned.total + larger < keep;
  __syncthreads();  // every thread has read the choice
  const std::uint32_t before = larger + scanned.before;
  if (all) {
    choice.all = 1;
  } else if (keep > 0 && before < keep && before + mine >= keep) {
    unsigned digit = top;
    std::uint32_t above = before;
    while (above + histogram[digit] < keep) above += histogram[digit--];
    choice.key = key << bits | digit;
    choice.larger = above;
  }
  for (unsigned b = 0; b < kBinsPerThread; ++b) histogram[top - b] = 0;
}

__global__ void candidates_kernel(SelectBuffers select) {
  const Part part = part_of(select.segments);
  const Choice choice = select.choices[part.segment];
  if (choice.keep == 0) return;
  const std::uint32_t word = make_word(part.tile_begin, part.begin, part.end, [&](std::size_t j) {
    const std::uint32_t key = key_at(select, j);
    return key != 0 && (choice.all != 0 || key >> kFirstShift >= choice.key) && stands(select, j);
  });
  if (word != 0) atomicOr(&select.mask[part.tile * kTileWords + threadIdx.x], word);
}

// Counts the digit at `shift` of the candidates whose digits above it are those found.
__global__ void refine_kernel(SelectBuffers select, unsigned shift) {
  __shared__ std::uint32_t bins[kBins];
  const Part part = part_of(select.segments);
  const Choice choice = select.choices[part.segment];
  if (choice.keep == 0 || choice.all != 0) return;
  clear_bins(bins);
  (void)filter_word(word_of_part(select.mask, part), part.tile_begin, [&](std::size_t j) {
    const std::uint32_t key = key_at(select, j);
    if (key >> (shift + kLowerBits) == choice.key)
      atomicAdd(&bins[key >> shift & ((1u << kLowerBits) - 1)], 1u);
    return false;
  });
  add_bins(bins, select.histogram + part.segment * kBins);
}

// Leaves in the mask what is larger than the k-th largest; its equals go to `ties`.
__global__ void resolve_kernel(SelectBuffers select) {
  const Part part = part_of(select.segments);
  const Choice choice = select.choices[part.segment];
  std::uint32_t tied = 0;
  if (choice.keep > 0 && choice.all == 0) {
    const std::uint32_t mine = word_of_part(select.mask, part);
    const std::uint32_t larger = filter_word(
        mine, part.tile_begin, [&](std::size_t j) { return key_at(select, j) > choice.key; });
    tied = filter_word(mine & ~larger, part.tile_begin,
                       [&](std::size_t j) { return key_at(select, j) == choice.key; });
    const std::size_t w = part.tile * kTileWords + threadIdx.x;
    if ((mine & ~larger) != 0) atomicAnd(&select.mask[w], ~(mine & ~larger));
    if (tied != 0) atomicOr(&select.ties[w], tied);
  }
  const std::uint32_t count = block_sum(static_cast<std::uint32_t>(__popc(tied)));
  if (threadIdx.x == 0) select.tie_counts[blockIdx.x] = count;
}

// Of the ties those with the lowest indices go, as many as there is room for.
__global__ void accept_kernel(SelectBuffers select) {
  const Part part = part_of(select.segments);
  const Choice choice = select.choices[part.segment];
  if (choice.keep == 0 || choice.all != 0) return;
  std::uint32_t tied = word_of_part(select.ties, part);
  const Scanned scanned = block_scan(static_cast<std::uint32_t>(__popc(tied)));
  const std::uint32_t before = select.tie_counts[blockIdx.x] -
                               select.tie_counts[select.segments.first[part.segment].first_block] +
                               scanned.before;
  const std::uint32_t room = choice.keep - choice.larger;
  std::uint32_t accepted = 0;
  for (std::uint32_t i = before; i < room && tied != 0; ++i) {
    const std::uint32_t lowest = tied & (~tied + 1);
    accepted |= lowest;
    tied ^= lowest;
  }
  if (accepted != 0) atomicOr(&select.mask[part.tile * kTileWords + threadIdx.x], accepted);
}

__global__ void begin_kernel(SelectBuffers select, std::uint32_t in_all,
                             const std::uint32_t* already) {
  for_each(select.segments.count, [=](std::size_t s) {
    const std::uint32_t keep =
        already == nullptr ? select.segments.first[s].keep : in_all - *already;
    select.choices[s] = {keep, 0, 0, 0};
  });
}

// Sets the mask's bits. It and the ties are 0 at first, the histogram is empty.
void queue_selection(const SelectBuffers& select, double* partials, cudaStream_t stream) {
  launch(stream, select.segments.blocks, survey_kernel, select, partials);
  launch(stream, select.segments.count, choose_kernel, select, 11u);
  launch(stream, select.segments.blocks, candidates_kernel, select);
  for (const unsigned shift : {kLowerBits, 0u}) {
    launch(stream, select.segments.blocks, refine_kernel, select, shift);
    launch(stream, select.segments.count, choose_kernel, select, kLowerBits);
  }
  launch(stream, select.segments.blocks, resolve_kernel, select);
  queue_scan(select.tie_counts, select.segments.blocks, stream);
  launch(stream, select.segments.blocks, accept_kernel, select);
}

struct Sizes {
  std::size_t elements, capacity, blocks;
  std::uint32_t quotas;
  bool floor;  // the quotas are one, and a selection from all follows
};

// Memory of both selections. The last segment is the whole vector.
void take_selection(Carver& carver, const Sizes& sizes, StepBuffers& step, SelectBuffers& select,
                    Segment*& segments) {
  step = take_step(carver, sizes.elements, sizes.capacity, sizes.blocks);
  const std::size_t words = step.tiles * kTileWords;
  segments = carver.take<Segment>(sizes.quotas + 1);
  select.segments = {segments, sizes.quotas, sizes.blocks};
  select.choices = carver.take<Choice>(sizes.quotas + 1);
  select.histogram = carver.take<std::uint32_t>(std::size_t{sizes.quotas} * kBins);
  select.tie_counts = carver.take<std::uint32_t>(std::max(sizes.blocks, step.tiles) + 1);
  select.ties = carver.take<std::uint32_t>(words);
  select.mask = step.mask;
  if (sizes.floor) step.more = carver.take<std::uint32_t>(words);
}

// The floor is in the mask: selects the largest of the rest, until `in_all` are kept.
void queue_rest(const StepBuffers& step, const SelectBuffers& floor, std::uint32_t in_all,
                cudaStream_t stream) {
  const std::size_t mask_bytes = step.tiles * kTileWords * sizeof(std::uint32_t);
  StepBuffers floor_step = step;
  floor_step.more = nullptr;
  queue_counts(floor_step, stream);
  (void)cudaMemsetAsync(step.more, 0, mask_bytes, stream);
  (void)cudaMemsetAsync(floor.ties, 0, mask_bytes, stream);
  SelectBuffers rest = floor;
  rest.segments = {floor.segments.first + floor.segments.count, 1, step.tiles};
  rest.mask = step.more;
  rest.excluded = step.mask;
  launch(stream, 1, begin_kernel, rest, in_all, step.counts + step.tiles);
  queue_selection(rest, nullptr, stream);
}

}  // namespace

Result<PassResult> CudaMemory::select_largest(const DifferencePass& pass, std::uint32_t in_all,
                                              Entries& entries) {
  const auto& [target, estimate, quotas, scratch, update, observer] = pass;
  KIMESH_CHECK(target.size == estimate.size, "a difference has the size of both sides");
  std::vector<Segment> segments = segments_of(quotas, target.size);
  std::size_t kept = 0;
  for (const Quota& quota : quotas) kept += quota.keep;
  KIMESH_CHECK(in_all == 0 || (in_all >= kept && in_all <= target.size),
               "the floor is a part of what is kept");
  entries.clear();
  if (Status told = tell_observer(pass); !told) return told.error();
  if (target.size == 0) return PassResult{};

  const Sizes sizes = {target.size, std::max<std::size_t>(kept, in_all), blocks_of(segments),
                       static_cast<std::uint32_t>(quotas.size()), in_all > 0};
  segments.push_back({0, target.size, 0, 0});
  StepBuffers step;
  SelectBuffers select;
  select.target = target.data;
  select.estimate = estimate.data;
  Segment* on_device = nullptr;
  Carver needed;
  take_selection(needed, sizes, step, select, on_device);
  Carver carver(workspace_.device(needed.bytes(), stream_));
  take_selection(carver, sizes, step, select, on_device);
  if (step.header == nullptr || !stage(std::as_bytes(std::span(segments)), on_device))
    return cuda_error(cudaErrorMemoryAllocation);
  const std::size_t mask_bytes = step.tiles * kTileWords * sizeof(std::uint32_t);
  (void)cudaMemsetAsync(select.histogram, 0, quotas.size() * kBins * sizeof(std::uint32_t),
                        stream_);
  (void)cudaMemsetAsync(step.mask, 0, mask_bytes, stream_);
  (void)cudaMemsetAsync(select.ties, 0, mask_bytes, stream_);
  launch(stream_, 1, begin_kernel, select, 0u, nullptr);
  queue_selection(select, step.partials, stream_);
  queue_energies(step.header, step.partials, sizes.blocks, stream_);
  if (in_all > 0) queue_rest(step, select, in_all, stream_);
  queue_counts(step, stream_);
  queue_entries(step, {target.data, estimate.data, target.size, update}, stream_);
  const auto download = download_pass(step, sizes.capacity);
  if (!download) return download.error();
  unpack(download->entries, entries);
  return download->result;
}

}  // namespace kimesh::kernels
