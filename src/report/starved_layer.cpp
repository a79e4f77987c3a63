// A layer of which next to nothing is sent.
#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kStarved = 0.05;   // of the share that the model as a whole gets
constexpr double kSizeMin = 0.001;  // of the model; smaller layers are a few elements
constexpr double kRoundsMin = 3;    // with shares of layers, at each node

}  // namespace

std::optional<Finding> find_starved_layer(const FindingInput& input) {
  const auto& layers = input.history.plan.layout.layers;
  if (!input.history.layout_known || layers.size() < 2) return std::nullopt;
  std::vector<double> sums(layers.size()), counts(layers.size());
  for (const NodeHistory& node : input.history.nodes)
    for (const RoundRecord& round : node.rounds) {
      if (round.round < input.measures.first || round.round >= input.measures.end) continue;
      for (std::size_t i = 0; i < std::min(layers.size(), round.layers.size()); ++i)
        if (round.layers[i]) sums[i] += *round.layers[i], ++counts[i];
    }
  const auto size = static_cast<double>(input.history.plan.layout.size());
  double all = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (counts[i] < kRoundsMin) return std::nullopt;
    sums[i] /= counts[i];
    all += sums[i] * static_cast<double>(layers[i].size) / size;
  }
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (static_cast<double>(layers[i].size) > kSizeMin * size && (!least || sums[i] < sums[*least]))
      least = i;
  if (!least || all <= 0 || sums[*least] > kStarved * all) return std::nullopt;
  Finding finding;
  finding.weight = 0.1;
  finding.text = fmt::format(
      "Compression starves layer {}: {} of its elements travel in a round, of all elements {}.",
      layers[*least].name, percent_text(sums[*least]), percent_text(all));
  finding.remedy = "The same share of every layer (policy: kimad, compressor: topk), or more bytes";
  return finding;
}

}  // namespace kimesh
