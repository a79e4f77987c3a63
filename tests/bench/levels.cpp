// What it costs gravac to know the gains of two factors, theta_min and theta_c, of one message:
// direct    both are compressed from what there is to send;
// levels    the paper's multi-level compression: theta_c is compressed from what theta_min kept;
// curve     theta_min is compressed and measured on the way; view_factors reads the gains of all
//           factors from the curve, which is what the policy does.
// The counter `gain` is what each of them takes the gain of theta_c for.
//
//   bench_levels [--benchmark_filter=WORD]
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kimesh/compress/codecs.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/policy/gravac.h"
#include "kimesh/util/check.h"
#include "tests/residual/residual.h"

namespace kimesh {
namespace {

constexpr std::size_t kSize = 1'000'000;
constexpr double kThetaMin = 10;
constexpr std::uint64_t kSeed = 1;
const std::vector<double> kThetas{10, 20, 40, 160, 1000};

// A vector that is sent to an estimate of zeros.
struct ToSend {
  std::vector<float> target, estimate;
  std::vector<Piece> pieces;
};

ToSend whole_vector() {
  const test::Residual residual = test::make_residual(kSize, kSeed);
  const auto values = residual.values.span();
  return {{values.begin(), values.end()}, std::vector<float>(values.size()), residual.pieces};
}

Setting setting_at(double theta, std::size_t size, const CodecPtr& codec) {
  Setting setting{codec, gravac_budget(theta, size, *codec), 1};
  setting.rounding = Rounding::kNearest;
  return setting;
}

Advanced compressed(ToSend& from, const Setting& setting, CompressScratch& scratch,
                    bool with_curve = false) {
  auto made = advance(from.target, from.estimate, from.pieces, setting, scratch, with_curve);
  KIMESH_CHECK(made.ok(), "finite values are compressed");
  return std::move(*made);
}

// What a message kept, without the gaps: the vector that the next level compresses.
void take_kept(const ToSend& from, const CompressScratch& scratch, ToSend& kept) {
  kept.target.clear();
  kept.pieces.clear();
  std::size_t i = 0;
  for (const Piece& piece : from.pieces) {
    const std::size_t first = kept.target.size();
    for (; i < scratch.entries.size() && scratch.entries.indices[i] < piece.offset + piece.size;
         ++i)
      if (const float value = from.estimate[scratch.entries.indices[i]]; value != 0)
        kept.target.push_back(value);
    if (kept.target.size() > first) kept.pieces.push_back({first, kept.target.size() - first});
  }
  kept.estimate.assign(kept.target.size(), 0.0f);
}

void clear(benchmark::State& state, ToSend& from) {
  state.PauseTiming();
  from.estimate.assign(from.estimate.size(), 0.0f);
  state.ResumeTiming();
}

void direct(benchmark::State& state, const std::string& name) {
  const CodecPtr codec = make_codec(name);
  ToSend from = whole_vector();
  CompressScratch scratch;
  const auto theta = static_cast<double>(state.range(0));
  double gain = 0;
  for (auto _ : state) {
    clear(state, from);
    benchmark::DoNotOptimize(compressed(from, setting_at(kThetaMin, kSize, codec), scratch));
    clear(state, from);
    const Advanced made = compressed(from, setting_at(theta, kSize, codec), scratch);
    gain = 1 - made.missing_energy / made.wanted_energy;
  }
  state.counters["gain"] = gain;
}

void levels(benchmark::State& state, const std::string& name) {
  const CodecPtr codec = make_codec(name);
  ToSend from = whole_vector(), kept;
  CompressScratch scratch;
  const Setting second = setting_at(static_cast<double>(state.range(0)), kSize, codec);
  double gain = 0;
  for (auto _ : state) {
    clear(state, from);
    const Advanced first = compressed(from, setting_at(kThetaMin, kSize, codec), scratch);
    take_kept(from, scratch, kept);
    const Advanced made = compressed(kept, second, scratch);
    gain = (made.wanted_energy - made.missing_energy) / first.wanted_energy;
  }
  state.counters["gain"] = gain;
}

void curve(benchmark::State& state, const std::string& name) {
  const CodecPtr codec = make_codec(name);
  ToSend from = whole_vector();
  CompressScratch scratch;
  const auto theta = static_cast<double>(state.range(0));
  double filled = 1, gain = 0;
  for (auto _ : state) {
    clear(state, from);
    const Setting setting = setting_at(kThetaMin, kSize, codec);
    const Advanced made = compressed(from, setting, scratch, true);
    if (setting.budget.elements() > 0)
      filled = static_cast<double>(made.kept) / setting.budget.elements();
    MessageObservation message;
    message.elements = kSize;
    message.curve = &made.curve;
    std::vector<double> thetas = kThetas;
    thetas.push_back(theta);
    gain =
        view_factors(thetas, std::span(&message, 1), {*codec, {}, 2, filled}).back().gain.value();
  }
  state.counters["gain"] = gain;
}

int add_all() {
  for (const char* codec : {"topk", "dgc", "redsync", "dzq"}) {
    for (const auto& [way, run] :
         {std::pair("direct", &direct), std::pair("levels", &levels), std::pair("curve", &curve)})
      benchmark::RegisterBenchmark((std::string(codec) + "/" + way).c_str(), *run, codec)
          ->Arg(20)
          ->Arg(160)
          ->Unit(benchmark::kMillisecond);
  }
  return 0;
}
const int kAdded = add_all();

}  // namespace
}  // namespace kimesh

BENCHMARK_MAIN();
