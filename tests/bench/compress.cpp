// How long selection and compression take, beside a read pass over the same data in the same run:
// the ratio holds across machines better than the time.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/topk.h"
#include "kernels/vector_math.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/util/random.h"

namespace kimesh {
namespace {

constexpr std::size_t kSize = 10'000'000;

// Gaussian, or heavy-tailed as the residuals of training are.
AlignedBuffer make_vector(bool heavy, std::uint32_t stream) {
  AlignedBuffer buffer(kSize);
  Random random(1, stream, 0, Purpose::kTest);
  for (float& x : buffer.span()) {
    const double normal = random.normal();
    x = static_cast<float>(heavy ? normal * std::exp(2 * random.normal()) : normal);
  }
  return buffer;
}

const AlignedBuffer& vector_of(bool heavy) {
  static const AlignedBuffer gauss = make_vector(false, 0), tailed = make_vector(true, 1);
  return heavy ? tailed : gauss;
}

// The least that any selection must do: read everything once.
void BM_ReadPass(benchmark::State& state) {
  const std::span<const float> x = vector_of(false).span();
  for (auto _ : state) {
    float sums[64] = {};
    for (std::size_t i = 0; i + 64 <= x.size(); i += 64)
      for (std::size_t j = 0; j < 64; ++j) sums[j] += x[i + j];
    benchmark::DoNotOptimize(sums);
  }
}

// Arguments: parts kept per thousand, heavy tail.
void BM_SelectTopk(benchmark::State& state) {
  const AlignedBuffer& x = vector_of(state.range(1) != 0);
  const std::size_t keep = kSize * static_cast<std::size_t>(state.range(0)) / 1000;
  kernels::TopkScratch scratch;
  std::vector<std::uint32_t> indices;
  for (auto _ : state) {
    indices.clear();
    kernels::select_topk(x.span(), keep, 0, indices, scratch);
    benchmark::DoNotOptimize(indices.data());
  }
}

// The whole step: difference, energies, selection, estimate, bytes. It reads two vectors and writes
// one.
void BM_Advance(benchmark::State& state) {
  const AlignedBuffer& target = vector_of(state.range(1) != 0);
  AlignedBuffer estimate(kSize);
  const std::vector<Piece> pieces{{0, kSize}};
  const auto keep = static_cast<std::uint32_t>(kSize / 1000 * state.range(0));
  CompressScratch scratch;
  for (auto _ : state) {
    auto made =
        advance(target.span(), estimate.span(), pieces, {Compressor::kTopk, keep, 0}, scratch);
    benchmark::DoNotOptimize(made);
  }
}

BENCHMARK(BM_ReadPass)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SelectTopk)->ArgsProduct({{1, 10, 100, 500}, {0, 1}})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Advance)->ArgsProduct({{1, 10, 100}, {0, 1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kimesh

BENCHMARK_MAIN();
