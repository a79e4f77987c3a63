// Entries that are added to a vector: an element each.
#include <cstring>

#include "cuda_select.cuh"

namespace kimesh::kernels {
namespace {

__global__ void scatter_kernel(const std::uint32_t* indices, const float* values, std::size_t count,
                               float* estimate) {
  for_each(count, [=](std::size_t c) {
    const std::uint32_t j = indices[c];
    estimate[j] = estimate[j] + values[c];
  });
}

__global__ void scatter_and_sum_kernel(const float* target, const std::uint32_t* indices,
                                       const float* values, std::size_t count, float* estimate,
                                       double* partials) {
  double removed = 0, left = 0;
  for_each(count, [&](std::size_t c) {
    const std::uint32_t j = indices[c];
    const float t = target[j];
    const float e = estimate[j];
    const float d = t - e;
    const float after = e + values[c];
    estimate[j] = after;
    const double rest = static_cast<double>(t) - static_cast<double>(after);
    removed += static_cast<double>(d) * static_cast<double>(d);
    left += rest * rest;
  });
  write_partials(removed, left, partials);
}

// Whether the last index is inside a vector of `size` elements; the others ascend to it.
bool all_inside(std::span<const std::byte> indices, std::size_t size) {
  if (indices.empty()) return true;
  std::uint32_t last = 0;
  std::memcpy(&last, indices.data() + indices.size() - sizeof(last), sizeof(last));
  return last < size;
}

}  // namespace

UploadedEntries CudaMemory::upload_entries(std::span<const std::byte> indices,
                                           std::span<const std::byte> values, std::size_t blocks) {
  KIMESH_CHECK(indices.size() == values.size(), "a value for each index");
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  const auto carve = [&](Carver& carver) {
    UploadedEntries entries;
    entries.indices = carver.take<std::uint32_t>(count);
    entries.values = carver.take<float>(count);
    entries.header = carver.take<StepHeader>(1);
    entries.partials = carver.take<double>(2 * blocks);
    return entries;
  };
  Carver sizes;
  (void)carve(sizes);
  Carver carver(workspace_.device(sizes.bytes(), stream_));
  const UploadedEntries entries = carve(carver);
  if (entries.indices == nullptr) return entries;  // the runtime remembers why
  upload_bytes(indices, entries.indices);
  upload_bytes(values, entries.values);
  return entries;
}

void CudaMemory::add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                            MemorySpan estimate) {
  KIMESH_CHECK(all_inside(indices, estimate.size), "indices inside the vector");
  if (indices.empty()) return;
  const UploadedEntries entries = upload_entries(indices, values, 0);
  if (entries.indices == nullptr) return;
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  launch(stream_, stride_blocks(count), scatter_kernel, entries.indices, entries.values, count,
         estimate.data);
}

Result<Added> CudaMemory::add_entries(ConstMemorySpan target,
                                      std::span<const std::uint32_t> indices,
                                      std::span<const float> values, bool, MemorySpan estimate) {
  KIMESH_CHECK(target.size == estimate.size, "a difference has the size of both sides");
  KIMESH_CHECK(all_inside(std::as_bytes(indices), estimate.size), "indices inside the vector");
  if (indices.empty()) return Added{};
  const std::size_t blocks = stride_blocks(indices.size());
  const UploadedEntries entries =
      upload_entries(std::as_bytes(indices), std::as_bytes(values), blocks);
  if (entries.indices == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  launch(stream_, blocks, scatter_and_sum_kernel, target.data, entries.indices, entries.values,
         indices.size(), estimate.data, entries.partials);
  queue_added(entries.header, entries.partials, blocks, stream_);
  const auto header = fetch(entries.header);
  if (!header) return header.error();
  return header->added;
}

}  // namespace kimesh::kernels
