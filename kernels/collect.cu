#include <algorithm>

#include "cuda_select.cuh"

namespace kimesh::kernels {
namespace {

__global__ void over_kernel(const float* target, const float* estimate, std::size_t size,
                            float lower, std::uint32_t* mask, double* partials) {
  const std::size_t begin = blockIdx.x * kTile;
  double wanted = 0, missing = 0;
  const std::uint32_t word = make_word(begin, begin, size, [&](std::size_t j) {
    const float t = target[j];
    const float d = t - estimate[j];
    wanted += static_cast<double>(t) * static_cast<double>(t);
    missing += static_cast<double>(d) * static_cast<double>(d);
    return fabsf(d) >= lower;
  });
  mask[blockIdx.x * kTileWords + threadIdx.x] = word;
  write_partials(wanted, missing, partials);
}

__global__ void squares_kernel(const float* target, const float* estimate, std::size_t size,
                               double* partials) {
  double wanted = 0, missing = 0;
  for_each(size, [&](std::size_t j) {
    const float t = target[j];
    const float d = t - estimate[j];
    wanted += static_cast<double>(t) * static_cast<double>(t);
    missing += static_cast<double>(d) * static_cast<double>(d);
  });
  write_partials(wanted, missing, partials);
}

// One block. Adds pairs of partial sums in an order that the number of blocks alone decides.
__device__ void sum_pairs(const double* partials, std::size_t blocks, double& first,
                          double& second) {
  first = second = 0;
  for (std::size_t b = threadIdx.x; b < blocks; b += kThreads) {
    first += partials[2 * b];
    second += partials[2 * b + 1];
  }
  first = block_sum(first);
  second = block_sum(second);
}

__global__ void energies_kernel(const double* partials, std::size_t blocks, StepHeader* header) {
  double wanted, missing;
  sum_pairs(partials, blocks, wanted, missing);
  if (threadIdx.x != 0) return;
  constexpr double kMax = 1.7976931348623157e308;
  header->energies = {wanted, missing};
  header->finite = wanted <= kMax && missing <= kMax ? 1 : 0;  // false for NaN
}

__device__ std::uint32_t selected_word(const std::uint32_t* mask, const std::uint32_t* more) {
  const std::size_t w = blockIdx.x * kTileWords + threadIdx.x;
  return more == nullptr ? mask[w] : mask[w] | more[w];
}

__global__ void count_kernel(const std::uint32_t* mask, const std::uint32_t* more,
                             std::uint32_t* counts) {
  const auto count = static_cast<std::uint32_t>(__popc(selected_word(mask, more)));
  const std::uint32_t total = block_sum(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// One block.
__global__ void scan_kernel(std::uint32_t* counts, std::size_t size) {
  std::uint32_t base = 0;
  for (std::size_t first = 0; first < size; first += kThreads) {
    const std::size_t i = first + threadIdx.x;
    const Scanned scanned = block_scan(i < size ? counts[i] : 0);
    if (i < size) counts[i] = base + scanned.before;
    base += scanned.total;
  }
  if (threadIdx.x == 0) counts[size] = base;
}

__global__ void entries_kernel(StepBuffers step, StepJob job) {
  const std::size_t begin = blockIdx.x * kTile;
  const std::uint32_t mine = step.header->finite != 0 ? selected_word(step.mask, step.more) : 0;
  const Scanned scanned = block_scan(static_cast<std::uint32_t>(__popc(mine)));
  const std::uint32_t base = step.counts[blockIdx.x] + scanned.before;
  const unsigned lane = threadIdx.x % kWarp;
  double removed = 0, left = 0;
  for_each_word(mine, begin, [&](unsigned k, std::uint32_t word, std::size_t j) {
    const std::uint32_t place = __shfl_sync(kAllLanes, base, k) +
                                static_cast<std::uint32_t>(__popc(word & ((1u << lane) - 1)));
    if ((word >> lane & 1) == 0 || place >= step.capacity) return;
    const float t = job.target[j];
    const float e = job.estimate[j];
    const float d = t - e;
    step.entries[place] = {static_cast<std::uint32_t>(j), d};
    if (!job.update) return;
    const float after = e + d;
    job.estimate[j] = after;
    const double rest = static_cast<double>(t) - static_cast<double>(after);
    removed += static_cast<double>(d) * static_cast<double>(d);
    left += rest * rest;
  });
  write_partials(removed, left, step.partials);
}

// One block.
__global__ void added_kernel(const double* partials, std::size_t blocks, StepHeader* header) {
  double removed, left;
  sum_pairs(partials, blocks, removed, left);
  if (threadIdx.x == 0) header->added = {removed, left};
}

__global__ void close_kernel(const std::uint32_t* count, StepHeader* header) {
  if (threadIdx.x == 0) header->count = header->finite != 0 ? *count : 0;
}

}  // namespace

StepBuffers take_step(Carver& carver, std::size_t size, std::size_t capacity, std::size_t blocks) {
  StepBuffers step;
  step.tiles = ceil_div(size, kTile);
  step.capacity = capacity;
  auto* memory = carver.take<std::byte>(kHeaderBytes + capacity * sizeof(Entry));
  step.header = reinterpret_cast<StepHeader*>(memory);
  step.entries = memory == nullptr ? nullptr : reinterpret_cast<Entry*>(memory + kHeaderBytes);
  step.mask = carver.take<std::uint32_t>(step.tiles * kTileWords);
  step.counts = carver.take<std::uint32_t>(step.tiles + 1);
  step.partials = carver.take<double>(2 * std::max(step.tiles, blocks));
  return step;
}

std::size_t blocks_of(std::span<const Segment> segments) {
  const Segment& last = segments.back();
  const bool empty = last.begin == last.end;
  return last.first_block + (empty ? 0 : ceil_div(last.end, kTile) - last.begin / kTile);
}

std::vector<Segment> segments_of(std::span<const Quota> quotas, std::size_t size) {
  std::vector<Segment> segments;
  std::size_t end = 0;
  for (const Quota& quota : quotas) {
    KIMESH_CHECK(quota.offset == end && quota.keep <= quota.size, "quotas follow one another");
    end = quota.offset + quota.size;
    const std::size_t block = segments.empty() ? 0 : blocks_of(segments);
    segments.push_back({quota.offset, end, quota.keep, static_cast<std::uint32_t>(block)});
  }
  KIMESH_CHECK(end == size, "quotas cover the vector");
  return segments;
}

void queue_energies(StepHeader* header, const double* partials, std::size_t blocks,
                    cudaStream_t stream) {
  launch(stream, 1, energies_kernel, partials, blocks, header);
}

void queue_added(StepHeader* header, const double* partials, std::size_t blocks,
                 cudaStream_t stream) {
  launch(stream, 1, added_kernel, partials, blocks, header);
}

void queue_scan(std::uint32_t* counts, std::size_t size, cudaStream_t stream) {
  launch(stream, 1, scan_kernel, counts, size);
}

void queue_counts(const StepBuffers& step, cudaStream_t stream) {
  launch(stream, step.tiles, count_kernel, step.mask, step.more, step.counts);
  queue_scan(step.counts, step.tiles, stream);
}

namespace {

void queue_close(const StepBuffers& step, cudaStream_t stream) {
  queue_added(step.header, step.partials, step.tiles, stream);
  launch(stream, 1, close_kernel, step.counts + step.tiles, step.header);
}

// Sparse messages carry few of the elements; a denser one costs a second copy.
std::size_t expected_of(std::size_t size) {
  return size / 32 + 1024;
}

}  // namespace

void queue_entries(const StepBuffers& step, const StepJob& job, cudaStream_t stream) {
  launch(stream, step.tiles, entries_kernel, step, job);
  queue_close(step, stream);
}

void unpack(std::span<const Entry> found, Entries& entries) {
  entries.resize(found.size());
  for (std::size_t c = 0; c < found.size(); ++c) {
    entries.indices[c] = found[c].index;
    entries.values[c] = found[c].value;
  }
}

Result<PassDownload> CudaMemory::download_pass(const StepBuffers& step, std::size_t expected) {
  const std::size_t first = std::min(expected, step.capacity);
  std::byte* host = workspace_.host(kHeaderBytes + first * sizeof(Entry), stream_);
  if (host == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  (void)cudaMemcpyAsync(host, step.header, kHeaderBytes + first * sizeof(Entry),
                        cudaMemcpyDeviceToHost, stream_);
  if (Status done = wait(); !done) return done.error();
  const StepHeader header = *reinterpret_cast<const StepHeader*>(host);
  KIMESH_CHECK(header.count <= step.capacity, "entries fit where they are put");
  if (header.count > first) {
    host = workspace_.host(kHeaderBytes + header.count * sizeof(Entry), stream_);
    if (host == nullptr) return cuda_error(cudaErrorMemoryAllocation);
    (void)cudaMemcpyAsync(host + kHeaderBytes, step.entries, header.count * sizeof(Entry),
                          cudaMemcpyDeviceToHost, stream_);
    if (Status done = wait(); !done) return done.error();
  }
  const auto* found = reinterpret_cast<const Entry*>(host + kHeaderBytes);
  return PassDownload{{header.energies, header.added}, {found, header.count}};
}

Result<Energies> CudaMemory::energies(ConstMemorySpan target, ConstMemorySpan estimate) {
  KIMESH_CHECK(target.size == estimate.size, "a difference has the size of both sides");
  if (target.size == 0) return Energies{};
  const std::size_t blocks = stride_blocks(target.size);
  const auto carve = [&](Carver& carver) {
    auto* header = carver.take<StepHeader>(1);
    return std::pair(header, carver.take<double>(2 * blocks));
  };
  Carver sizes;
  (void)carve(sizes);
  Carver carver(workspace_.device(sizes.bytes(), stream_));
  const auto [header, partials] = carve(carver);
  if (header == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  launch(stream_, blocks, squares_kernel, target.data, estimate.data, target.size, partials);
  queue_energies(header, partials, blocks, stream_);
  const auto done = fetch(header);
  if (!done) return done.error();
  return done->energies;
}

namespace {

// Queues the pass that masks what reaches `lower`, up to its counts. A null header: no memory.
StepBuffers queue_reaching(const DifferencePass& pass, float lower, Workspace& workspace,
                           cudaStream_t stream) {
  const std::size_t size = pass.target.size, tiles = ceil_div(size, kTile);
  Carver sizes;
  (void)take_step(sizes, size, size, tiles);
  Carver carver(workspace.device(sizes.bytes(), stream));
  const StepBuffers step = take_step(carver, size, size, tiles);
  if (step.header == nullptr) return step;
  launch(stream, tiles, over_kernel, pass.target.data, pass.estimate.data, size, lower, step.mask,
         step.partials);
  queue_energies(step.header, step.partials, tiles, stream);
  queue_counts(step, stream);
  return step;
}

}  // namespace

Result<PassResult> CudaMemory::select_reaching(const DifferencePass& pass, float lower,
                                               Entries& entries) {
  KIMESH_CHECK(pass.target.size == pass.estimate.size, "a difference has the size of both sides");
  KIMESH_CHECK(lower > 0, "zeros are never collected");
  entries.clear();
  if (Status told = tell_observer(pass); !told) return told.error();
  const std::size_t size = pass.target.size;
  if (size == 0) return PassResult{};
  const StepBuffers step = queue_reaching(pass, lower, workspace_, stream_);
  if (step.header == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  queue_entries(step, {pass.target.data, pass.estimate.data, size, pass.update}, stream_);
  const auto download = download_pass(step, expected_of(size));
  if (!download) return download.error();
  unpack(download->entries, entries);
  return download->result;
}

}  // namespace kimesh::kernels
