// What a decision of kimad_plus costs: sharing among the messages of a link, and among the layers
// of one by the threshold (which the compressor finds, so the decision is only the sharing) and by
// the knapsack. Bar: the program takes at most 5 ms for 500 layers, 20 ratios and 1000 bins.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "kimesh/compress/codecs.h"
#include "kimesh/policy/kimad_plus.h"
#include "kimesh/policy/policy.h"
#include "kimesh/policy/policy_options.h"
#include "kimesh/util/random.h"

namespace kimesh {
namespace {

constexpr std::size_t kMessages = 4;

// Layers of 20 to 20,000 elements, each with its own scale and a heavy tail.
Curve curve_of(std::size_t layers, std::uint32_t stream) {
  Random random(1, stream, 0, Purpose::kTest);
  Curve curve;
  for (std::size_t l = 0; l < layers; ++l) {
    std::vector<float> values(static_cast<std::size_t>(20 * std::pow(1000, random.uniform())));
    const double scale = std::pow(10, 2 * random.uniform());
    for (float& x : values)
      x = static_cast<float>(scale * random.normal() * std::exp(random.normal()));
    const Piece piece{0, values.size()};
    curve.push_back(measure_curve(values, std::span(&piece, 1))[0]);
  }
  return curve;
}

struct Messages {
  std::vector<Curve> curves;
  std::vector<const Curve*> views;
  MessageContext context;

  explicit Messages(std::size_t layers) {
    for (std::uint32_t m = 0; m < kMessages; ++m) curves.push_back(curve_of(layers, m));
    for (const Curve& curve : curves) views.push_back(&curve);
    for (const PieceCurve& piece : curves[0]) context.elements += piece.size;
    // A budget of a twentieth of the elements: a message has a quarter of a second, and its path
    // time for more.
    context.slots = kMessages;
    context.round_time = std::chrono::seconds(1);
    context.link = {kMessages * 8 * 0.05 * static_cast<double>(context.elements), 0.01, Duration{0},
                    false};
    context.curves = views;
  }
};

void decide(benchmark::State& state, const char* allocator) {
  const Messages messages(static_cast<std::size_t>(state.range(0)));
  const auto policy = make_policy({policy_options("kimad_plus", {{"allocator", allocator}}),
                                   make_codec("topk"), std::chrono::seconds(1)});
  for (auto _ : state) benchmark::DoNotOptimize(policy->choose(messages.context));
}

void BM_DecideByThreshold(benchmark::State& state) {
  decide(state, "threshold");
}
void BM_DecideByKnapsack(benchmark::State& state) {
  decide(state, "knapsack");
}

// The dynamic program alone, over menus of 20 ratios.
void BM_Knapsack(benchmark::State& state) {
  const Curve curve = curve_of(static_cast<std::size_t>(state.range(0)), 0);
  constexpr double kRatios = 20, kLeast = 1e-3;
  std::vector<Menu> menus;
  double size = 0;
  for (const PieceCurve& piece : curve) {
    size += piece.size;
    Menu& menu = menus.emplace_back();
    for (double i = 0; i < kRatios; ++i) {
      const double keep = piece.size * kLeast * std::pow(1 / kLeast, i / (kRatios - 1));
      menu.push_back({8 * keep, piece.missing_energy(keep)});
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(knapsack(menus, 8 * 0.05 * size, 1000));
}

BENCHMARK(BM_DecideByThreshold)->Arg(10)->Arg(500)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_DecideByKnapsack)->Arg(10)->Arg(500)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Knapsack)->Arg(10)->Arg(500)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kimesh

BENCHMARK_MAIN();
