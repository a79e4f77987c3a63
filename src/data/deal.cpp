#include "deal.h"

#include <algorithm>
#include <numeric>

#include "kimesh/data/dataset.h"
#include "stratify.h"

namespace kimesh {
namespace {

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

}  // namespace

Parts deal_stratified(const SplitRequest& request, std::span<const double> weights) {
  const auto order =
      sorted_by_label(request.train, request.seed, kOrderStream, Purpose::kDataSplit);
  return deal_evenly(order, sizes_for(weights, order.size()));
}

}  // namespace kimesh
