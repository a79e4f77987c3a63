#include "kimesh/emulation/max_min.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr double kRising = -1;  // a rate that is not settled yet

struct Group {
  double left;    // capacity that settled flows do not use
  double rising;  // the weights of the flows that still share it
  // The rate that it leaves to a flow of weight 1.
  [[nodiscard]] double level() const {
    return rising == 0 ? std::numeric_limits<double>::infinity() : left / rising;
  }
};

// Calls `visit` with each group of the flow, once.
template <typename Visit>
void for_groups(const Flow& flow, std::vector<Group>& groups, Visit visit) {
  const auto [first, second] = flow.groups;
  if (first != kNoGroup) visit(groups[first]);
  if (second != kNoGroup && second != first) visit(groups[second]);
}

// The capacity that the settled flows leave of each group, and the number of flows that still rise
// in it.
void measure(std::span<const Flow> flows, std::span<const double> capacity,
             std::span<const double> rates, std::vector<Group>& groups) {
  groups.clear();
  for (const double value : capacity) groups.push_back({std::max(value, 0.0), 0});
  for (std::size_t i = 0; i < flows.size(); ++i)
    for_groups(flows[i], groups, [&](Group& group) {
      if (rates[i] == kRising)
        group.rising += flows[i].weight;
      else
        group.left = std::max(group.left - rates[i], 0.0);
    });
}

}  // namespace

void max_min_shares(std::span<const Flow> flows, std::span<const double> group_capacity,
                    std::span<double> rates) {
  KIMESH_CHECK(rates.size() == flows.size(), "one rate per flow");
  for (const Flow& flow : flows)
    for (const std::uint32_t group : flow.groups)
      KIMESH_CHECK(group == kNoGroup || group < group_capacity.size(), "the group exists");
  std::fill(rates.begin(), rates.end(), kRising);
  std::vector<Group> groups;
  groups.reserve(group_capacity.size());

  // The rate of a flow for each unit of weight, if all flows rose alike from here.
  const auto ceiling = [&](const Flow& flow) {
    double level = std::max(flow.cap, 0.0) / flow.weight;
    for_groups(flow, groups, [&](Group& group) { level = std::min(level, group.level()); });
    return level;
  };
  for (std::size_t settled = 0; settled < flows.size();) {
    measure(flows, group_capacity, rates, groups);
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (rates[i] == kRising) level = std::min(level, ceiling(flows[i]));
    const std::size_t before = settled;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (rates[i] != kRising || ceiling(flows[i]) > level) continue;
      rates[i] = level * flows[i].weight;
      ++settled;
    }
    KIMESH_CHECK(settled > before, "each round of filling settles a flow");
  }
}

}  // namespace kimesh
