// The twin of MagnitudeHistogram: all its sums are of whole numbers, so that their order is free.
#include "cuda_select.cuh"

namespace kimesh::kernels {
namespace {

// Of a tile: the count above, the sum of 20-bit distances below.
constexpr unsigned kCountShift = 40;
static_assert(kTile << kMagnitudeBinBits < 1ull << kCountShift);
__global__ void magnitudes_kernel(const float* target, const float* estimate, Segments segments,
                                  unsigned long long* bins) {
  __shared__ unsigned long long tile_bins[kMagnitudeBins];
  for (unsigned b = threadIdx.x; b < kMagnitudeBins; b += kThreads) tile_bins[b] = 0;
  __syncthreads();
  const Part part = part_of(segments);
  for (std::size_t j = part.begin + threadIdx.x; j < part.end; j += kThreads) {
    const std::uint32_t word =
        magnitude_bits(target[j] - estimate[j]) + ((1u << kMagnitudeBinBits) - 1);
    atomicAdd(&tile_bins[word >> kMagnitudeBinBits],
              (1ull << kCountShift) + (word & ((1u << kMagnitudeBinBits) - 1)));
  }
  __syncthreads();
  unsigned long long* out = bins + part.segment * (2 * kMagnitudeBins);
  for (unsigned b = threadIdx.x; b < kMagnitudeBins; b += kThreads) {
    const unsigned long long number = tile_bins[b];
    if (number == 0) continue;
    atomicAdd(&out[2 * b], number >> kCountShift);
    atomicAdd(&out[2 * b + 1], number & ((1ull << kCountShift) - 1));
  }
}

}  // namespace

Result<bool> CudaMemory::observe_magnitudes(const DifferencePass& pass) {
  KIMESH_CHECK(pass.target.size == pass.estimate.size, "a difference has the size of both sides");
  KIMESH_CHECK(pass.observer != nullptr, "somebody to tell");
  const std::size_t parts = pass.parts.size();
  std::vector<MagnitudeBin> bins(parts * kMagnitudeBins);
  if (Status counted = count_magnitudes(pass, bins); !counted) return counted.error();
  for (std::size_t part = 0; part < parts; ++part) {
    PartMagnitudes magnitudes;
    magnitudes.part = part;
    magnitudes.bins = std::span(bins).subspan(part * kMagnitudeBins, kMagnitudeBins);
    pass.observer->observe(magnitudes);
  }
  return true;
}

Status CudaMemory::tell_observer(const DifferencePass& pass) {
  if (pass.observer == nullptr) return ok_status();
  if (const auto told = observe_magnitudes(pass); !told) return told.error();
  return ok_status();
}

Status CudaMemory::count_magnitudes(const DifferencePass& pass, std::span<MagnitudeBin> bins) {
  const std::vector<Segment> segments = segments_of(pass.parts, pass.target.size);
  if (pass.target.size == 0) return ok_status();
  const auto carve = [&](Carver& carver) {
    auto* on_device = carver.take<Segment>(segments.size());
    return std::pair(on_device, carver.take<unsigned long long>(2 * bins.size()));
  };
  Carver needed;
  (void)carve(needed);
  Carver carver(workspace_.device(needed.bytes(), stream_));
  const auto [on_device, counted] = carve(carver);
  if (on_device == nullptr || !stage(std::as_bytes(std::span(segments)), on_device))
    return cuda_error(cudaErrorMemoryAllocation);
  (void)cudaMemsetAsync(counted, 0, bins.size_bytes(), stream_);
  const Segments all = {on_device, static_cast<std::uint32_t>(pass.parts.size()),
                        blocks_of(segments)};
  launch(stream_, all.blocks, magnitudes_kernel, pass.target.data, pass.estimate.data, all,
         counted);
  (void)cudaMemcpyAsync(bins.data(), counted, bins.size_bytes(), cudaMemcpyDeviceToHost, stream_);
  return wait();
}

}  // namespace kimesh::kernels
