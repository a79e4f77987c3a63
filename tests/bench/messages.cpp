// What a message of kimad_plus leaves out beside one of kimad with as many elements: EF21 channels
// of a single node follow the same gradients of a real model, each with its own way to share the
// elements among the layers. Told is the energy that the far end misses after a message, as a share
// of what was wanted (1 − gain).
//
//   bench_messages [--cifar10 FOLDER] [--text FILE] [--ratio 0.01] [--rounds 100] [--json FILE]
//
// Without a folder or a file that model is left out.
#include "kimesh/ef21/channel.h"
#include "kimesh/optimizer/optimizer.h"
#include "kimesh/policy/kimad_plus.h"
#include "kimesh/train/trainer.h"
#include "tests/bench/arguments.h"
#include "tests/bench/kind_keys.h"
#include "tests/bench/timed_run.h"
#include "tests/settings.h"

namespace kimesh::bench {
namespace {

constexpr Round kWarmUp = 20;  // rounds in which estimates that start from 0 fill
constexpr unsigned kRatios = 20, kBins = 1000;

// One way to share, with the estimate that it leads to.
class Way {
 public:
  Way(Allocation allocation, std::span<const Piece> pieces, std::size_t size)
      : allocation_(allocation), pieces_(pieces), estimate_(size) {}

  void send(Round round, std::uint32_t keep, std::span<const float> target) {
    Setting setting = topk_setting(keep, round);
    const std::uint32_t floor = std::max(1u, keep / 10);
    if (allocation_ == Allocation::kGlobal) {
      setting.allocation = allocation_;
      setting.floor = floor;
    } else if (allocation_ == Allocation::kListed && !curve_.empty()) {
      setting.allocation = allocation_;
      setting.shares = knapsack_shares(curve_, keep, floor, round, kRatios, kBins);
    }
    const ChannelMessage message{pieces_, setting, false, allocation_ == Allocation::kListed};
    Advanced made =
        or_exit(advance_channel({kernels::host_memory(), kernels::MemorySpan(estimate_)},
                                kernels::ConstMemorySpan(target), message, scratch_));
    curve_ = std::move(made.curve);
    if (round >= kWarmUp) missing.push_back(made.missing_energy / made.wanted_energy);
  }

  std::vector<double> missing;  // by message

 private:
  Allocation allocation_;
  std::span<const Piece> pieces_;
  std::vector<float> estimate_;
  Curve curve_;
  CompressScratch scratch_;
};

void measure(const std::string& name, RunConfig config, double ratio, Round rounds,
             Figures& figures) {
  const TrainingData data = or_exit(prepare_training_data(config, 1, {}));
  const auto objective = or_exit(make_trainer(config, data, 0));
  const Layout& layout = objective->layout();
  AlignedBuffer parameters(layout.size()), gradient(layout.size());
  AlignedBuffer velocity(config.optimizer.keeps_velocity() ? layout.size() : 0);
  kernels::Memory& host = kernels::host_memory();
  ShardOptimizer optimizer = or_exit(ShardOptimizer::create(config.optimizer, host, layout.size()));
  objective->initialise(parameters.span());
  objective->bind(parameters.span(), gradient.span());

  std::vector<Piece> pieces;
  for (const LayoutLayer& layer : layout.layers) pieces.push_back({layer.offset, layer.size});
  std::vector<Way> ways;
  for (const auto allocation :
       {Allocation::kProportional, Allocation::kGlobal, Allocation::kListed})
    ways.emplace_back(allocation, pieces, layout.size());
  const auto keep = static_cast<std::uint32_t>(ratio * static_cast<double>(layout.size()));
  for (Round round = 0; round < rounds; ++round) {
    static_cast<void>(or_exit(objective->gradient(round)));
    const kernels::MemorySpan w(parameters.span()), g(gradient.span()), v(velocity.span());
    prepare_gradient(config.optimizer, host, {w, g, v});
    const std::span<const float> wanted = velocity.size() > 0 ? velocity.span() : gradient.span();
    for (Way& way : ways) way.send(round, keep, wanted);
    optimizer.step(round, w, kernels::ConstMemorySpan(wanted));
  }
  const std::string of =
      fmt::format("{}, {} layers, {:g} % kept: missing, ", name, layout.layers.size(), 100 * ratio);
  figures.add(of + "kimad", "", ways[0].missing);
  figures.add(of + "kimad_plus by threshold", "", ways[1].missing);
  figures.add(of + "kimad_plus by knapsack", "", ways[2].missing);
}

int main(int count, char** words) {
  const Arguments said(count, words, {"--ratio", "--rounds", "--cifar10", "--text", "--json"});
  const double ratio = std::stod(said("--ratio", "0.01"));
  const auto rounds = static_cast<Round>(std::stoul(said("--rounds", "100")));
  fmt::print("{}; medians of the messages of {} rounds\n", machine(), rounds - kWarmUp);
  Figures figures;
  const std::string configs = std::string(KIMESH_SOURCE_DIR) + "/configs/";
  const auto with_data = [&](const std::string& file, const std::string& path) {
    RunConfig config = loaded_or_exit(load_config(configs + file));
    bench::set(*config.data.kind, {{"path", path}});
    measure(file, config, ratio, rounds, figures);
  };
  if (const std::string folder = said("--cifar10"); !folder.empty())
    with_data("cifar10-cnn.yaml", folder);
  if (const std::string file = said("--text"); !file.empty())
    with_data("shakespeare-transformer.yaml", file);
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
