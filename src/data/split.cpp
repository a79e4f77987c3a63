#include "kimesh/data/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kimesh/util/check.h"
#include "stratify.h"

namespace kimesh {
namespace {

using Parts = std::vector<std::vector<std::uint32_t>>;

constexpr std::uint32_t kOrderStream = 0, kDirichletStream = 1;  // of Purpose::kDataSplit
constexpr std::uint32_t kTestPartStream = 1;  // of Purpose::kTestSet; stream 0 chose the test set

// Sizes in proportion to the weights that sum to `total`, by the largest remainder. Where a size
// would be 0 it is 1, at the cost of the largest.
std::vector<std::size_t> sizes_for(std::span<const double> weights, std::size_t total) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::size_t> sizes;
  for (const double weight : weights) {
    const double exact = weight / sum * static_cast<double>(total);
    sizes.push_back(std::max<std::size_t>(1, static_cast<std::size_t>(exact)));
  }
  const auto lack = [&](std::size_t i) {
    return weights[i] / sum * static_cast<double>(total) - static_cast<double>(sizes[i]);
  };
  std::size_t given = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  for (; given < total; ++given) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < sizes.size(); ++i)
      if (lack(i) > lack(best)) best = i;
    ++sizes[best];
  }
  for (; given > total; --given) --*std::max_element(sizes.begin(), sizes.end());
  return sizes;
}

// Deals `order` out so that at every moment each node has about its share: classes that lie
// together in `order` are spread evenly.
Parts deal_evenly(std::span<const std::uint32_t> order, std::span<const std::size_t> sizes) {
  struct Turn {
    double when;  // in (0, 1): the node's k-th sample is due at (k + 1/2) / size
    std::uint32_t node;
  };
  std::vector<Turn> turns;
  turns.reserve(order.size());
  for (std::uint32_t node = 0; node < sizes.size(); ++node)
    for (std::size_t k = 0; k < sizes[node]; ++k)
      turns.push_back({(static_cast<double>(k) + 0.5) / static_cast<double>(sizes[node]), node});
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn& a, const Turn& b) { return a.when < b.when; });
  Parts parts(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) parts[turns[i].node].push_back(order[i]);
  return parts;
}

std::vector<std::uint32_t> in_file_order(const SampleClasses& train) {
  std::vector<std::uint32_t> order(train.samples());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

Parts cut(std::span<const std::uint32_t> order, std::size_t nodes) {
  Parts parts(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(order.size() * i / nodes);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(order.size() * (i + 1) / nodes);
    parts[i].assign(begin, end);
  }
  return parts;
}

// A draw of Dirichlet(concentration, ..., concentration), as running sums from 0 to 1.
std::vector<double> dirichlet_cuts(double concentration, std::size_t nodes, Random random) {
  std::vector<double> share(nodes);
  for (double& s : share) s = random.gamma(concentration);
  double sum = std::accumulate(share.begin(), share.end(), 0.0);
  if (!(sum > 0)) {  // tiny concentrations underflow; their limit is one node that takes all
    sum = share[random.below(static_cast<std::uint32_t>(nodes))] = 1;
  }
  std::vector<double> cuts{0};
  for (const double s : share) cuts.push_back(cuts.back() + s / sum);
  cuts.back() = 1;
  return cuts;
}

// A node that got nothing takes a sample of the richest.
void feed_empty(Parts& parts) {
  for (auto& part : parts) {
    if (!part.empty()) continue;
    auto richest = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      return a.size() < b.size();
    });
    part.push_back(richest->back());
    richest->pop_back();
  }
}

Parts deal_by_dirichlet(const SampleClasses& train, double concentration, std::size_t nodes,
                        std::uint64_t seed) {
  Parts parts(nodes);
  const Parts classes = shuffled_classes(train, seed, kOrderStream, Purpose::kDataSplit);
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const auto cuts = dirichlet_cuts(concentration, nodes,
                                     Random(seed, c, kDirichletStream, Purpose::kDataSplit));
    const auto size = static_cast<double>(classes[c].size());
    for (std::size_t i = 0; i < nodes; ++i)
      for (auto k = std::llround(cuts[i] * size); k < std::llround(cuts[i + 1] * size); ++k)
        parts[i].push_back(classes[c][static_cast<std::size_t>(k)]);
  }
  feed_empty(parts);
  return parts;
}

Parts split_unsorted(const SampleClasses& train, const DataConfig& config,
                     std::span<const double> weights, std::size_t nodes, std::uint64_t seed) {
  if (config.split == SplitKind::kDirichlet)
    return deal_by_dirichlet(train, config.dirichlet, nodes, seed);
  const auto order = sorted_by_label(train, seed, kOrderStream, Purpose::kDataSplit);
  if (config.split == SplitKind::kByLabel)
    return cut(train.classes > 1 ? order : in_file_order(train), nodes);
  const std::vector<double> equal(nodes, 1.0);
  const bool weighted = config.split == SplitKind::kWeights;
  KIMESH_CHECK(!weighted || weights.size() == nodes, "one weight a node");
  return deal_evenly(order, sizes_for(weighted ? weights : equal, order.size()));
}

}  // namespace

Parts split_data(const SampleClasses& train, const DataConfig& config,
                 std::span<const double> weights, std::size_t nodes, std::uint64_t seed) {
  KIMESH_CHECK(nodes > 0 && train.samples() >= nodes, "a sample for every node");
  Parts parts = split_unsorted(train, config, weights, nodes, seed);
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

std::vector<std::uint32_t> test_part(const SampleClasses& test, NodeIndex node, std::size_t nodes,
                                     std::uint64_t seed) {
  const auto order = sorted_by_label(test, seed, kTestPartStream, Purpose::kTestSet);
  std::vector<std::uint32_t> part;
  for (std::size_t i = node; i < order.size(); i += nodes) part.push_back(order[i]);
  return part;
}

std::vector<std::uint32_t> batch_samples(std::span<const std::uint32_t> part, int batch,
                                         Round round, NodeIndex node, std::uint64_t seed) {
  KIMESH_CHECK(!part.empty() && batch > 0, "a batch of something");
  const auto size = static_cast<std::uint64_t>(batch);
  std::vector<std::uint32_t> samples, epoch_order;
  samples.reserve(size);
  const std::uint64_t begin = round * size;
  for (std::uint64_t at = begin; at < begin + size; ++at) {
    if (epoch_order.empty() || at % part.size() == 0) {
      epoch_order.assign(part.begin(), part.end());
      const auto epoch = static_cast<std::uint32_t>(at / part.size());
      Random(seed, node, epoch, Purpose::kBatchOrder).shuffle(std::span(epoch_order));
    }
    samples.push_back(epoch_order[at % part.size()]);
  }
  return samples;
}

}  // namespace kimesh
