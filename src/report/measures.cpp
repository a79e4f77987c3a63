#include "kimesh/report/measures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kimesh/util/check.h"
#include "kimesh/util/quantile.h"

namespace kimesh {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double TimeSplit::*kTimeParts[] = {&TimeSplit::compute_s, &TimeSplit::encode_s,
                                             &TimeSplit::apply_s,   &TimeSplit::step_s,
                                             &TimeSplit::wire_s,    &TimeSplit::wait_s};
constexpr Round kWarmUpDivisor = 10;  // a tenth of the rounds is left out

using Records = std::vector<const RoundRecord*>;

// The records of one node of the measured rounds. A closing round has messages of its own kind,
// and counts only where there is no other.
Records measured(const NodeHistory& node, Round first, Round end) {
  const auto begin = std::ranges::lower_bound(node.rounds, first, {}, &RoundRecord::round);
  const auto stop = std::ranges::lower_bound(node.rounds, end, {}, &RoundRecord::round);
  Records records;
  for (auto round = begin; round != stop; ++round)
    if (!round->closing || end - first == 1) records.push_back(&*round);
  return records;
}

double mean(double sum, std::size_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

NodeMeasures measure_node(const Records& rounds) {
  NodeMeasures node;
  node.rounds = rounds.size();
  std::vector<double> gradients;
  TimeSplit& sum = node.split;
  for (const RoundRecord* round : rounds) {
    gradients.push_back(round->compute_s);
    node.encode_s += round->encode_s;
    node.apply_s += round->apply_s;
    node.step_s += round->step_s;
    const TimeSplit split = split_of(*round);
    for (const auto part : kTimeParts) sum.*part += split.*part;
  }
  for (const auto part : kTimeParts) sum.*part = mean(sum.*part, rounds.size());
  for (double* work : {&node.encode_s, &node.apply_s, &node.step_s})
    *work = mean(*work, rounds.size());
  node.gradient_s = spread_of(std::move(gradients));
  return node;
}

// Collects the records of one link.
struct LinkSums {
  std::vector<double> rates, true_rates, off, fixed;
  double bytes = 0, budget = 0, wire_s = 0, round_s = 0, elements = 0, kept = 0;
  double reduce = 0, gather = 0;
  std::size_t rounds = 0, reduces = 0, gathers = 0;

  // `shares`: what it gets depends on other links, so that no rate of its own is emulated.
  void add(const LinkRecord& record, double seconds, bool shares) {
    if (record.rate_bits_per_s) rates.push_back(*record.rate_bits_per_s);
    if (record.true_rate_bits_per_s) true_rates.push_back(*record.true_rate_bits_per_s);
    if (record.rate_bits_per_s && record.true_rate_bits_per_s && !record.rate_is_lower_bound &&
        !shares)
      off.push_back(std::abs(*record.rate_bits_per_s / *record.true_rate_bits_per_s - 1));
    fixed.push_back(record.fixed_cost_s);
    bytes += static_cast<double>(record.bytes);
    budget += static_cast<double>(record.budget_bytes);
    elements += static_cast<double>(record.elements);
    kept += static_cast<double>(record.kept);
    wire_s += sending_s(record);
    round_s += seconds;
    ++rounds;
    if (record.reduce_contraction) reduce += *record.reduce_contraction, ++reduces;
    if (record.gather_contraction) gather += *record.gather_contraction, ++gathers;
  }
};

bool shares_interface(const TopologyFile& topology, const Link& link) {
  return topology.nodes[link.from].sending_cap_bits_per_s() ||
         topology.nodes[link.to].downlink_bits_per_s;
}

std::optional<double> middle_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return spread_of(values).p50;
}

// By LinkIndex; zeros where sizes are unknown.
std::vector<double> dense_bytes_of(const RunHistory& history) {
  std::vector<double> bytes(history.plan.links.size());
  if (!history.layout_known) return bytes;
  for (const Channel& channel : history.plan.channels)
    bytes[channel.link] +=
        static_cast<double>(dense_bytes(history.plan.shards[channel.shard].size));
  return bytes;
}

LinkMeasures measure_link(LinkIndex index, const LinkSums& sums, double dense) {
  LinkMeasures link;
  link.link = index;
  link.rounds = sums.rounds;
  link.rate_bits_per_s = middle_of(sums.rates);
  link.true_rate_bits_per_s = middle_of(sums.true_rates);
  link.rate_off = middle_of(sums.off);
  link.fixed_cost_s = middle_of(sums.fixed).value_or(0);
  link.busy = sums.round_s > 0 ? std::min(1.0, sums.wire_s / sums.round_s) : 0;
  link.bytes = mean(sums.bytes, sums.rounds);
  link.budget_bytes = mean(sums.budget, sums.rounds);
  link.dense_bytes = dense;
  link.kept = sums.elements > 0 ? sums.kept / sums.elements : 0;
  if (sums.reduces > 0) link.reduce_contraction = mean(sums.reduce, sums.reduces);
  if (sums.gathers > 0) link.gather_contraction = mean(sums.gather, sums.gathers);
  if (link.rate_bits_per_s && dense > 0)
    link.saved_s = kBitsPerByte * (dense - link.bytes) / *link.rate_bits_per_s;
  return link;
}

void measure_links(const RunHistory& history, RunMeasures& measures) {
  std::vector<LinkSums> sums(history.plan.links.size());
  std::vector<bool> shares;
  for (const Link& link : history.plan.links)
    shares.push_back(shares_interface(history.topology, link));
  for (NodeIndex node = 0; node < history.nodes.size(); ++node)
    for (const RoundRecord* round : measured(history.nodes[node], measures.first, measures.end))
      for (const LinkRecord& record : round->links) {
        const auto far = history.topology.find_node(record.to);
        const auto link = far ? history.plan.find_link(node, *far) : std::nullopt;
        if (link) sums[*link].add(record, seconds_of(*round), shares[*link]);
      }
  const std::vector<double> dense = dense_bytes_of(history);
  for (LinkIndex link = 0; link < sums.size(); ++link)
    measures.links.push_back(measure_link(link, sums[link], dense[link]));
}

// By round: the longest time and the longest gradient of the nodes. Of a round in which all nodes
// evaluated, and took no gradient, nothing is recorded.
void measure_rounds(const RunHistory& history, RunMeasures& measures) {
  std::vector<double> longest(measures.rounds()), gradients(measures.rounds());
  for (const NodeHistory& node : history.nodes)
    for (const RoundRecord* round : measured(node, measures.first, measures.end)) {
      double& seconds = longest[round->round - measures.first];
      double& gradient = gradients[round->round - measures.first];
      seconds = std::max(seconds, seconds_of(*round));
      gradient = std::max(gradient, round->compute_s);
    }
  std::erase(longest, 0.0);
  const double sum = std::accumulate(longest.begin(), longest.end(), 0.0);
  const double compute = std::accumulate(gradients.begin(), gradients.end(), 0.0);
  measures.mean_round_s = mean(sum, longest.size());
  measures.longest_gradient_s = mean(compute, longest.size());
  measures.round_s = spread_of(std::move(longest));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  return {lower_median(values), lower_quantile(values, 0.95)};
}

double seconds_of(const RoundRecord& round) {
  return std::max(0.0, round.round_s - round.evaluate_max_s);
}

TimeSplit split_of(const RoundRecord& round) {
  const double whole = seconds_of(round);
  TimeSplit split;
  split.compute_s = std::clamp(round.compute_s, 0.0, whole);
  double left = whole - split.compute_s;
  const double work = round.encode_s + round.apply_s + round.step_s;
  const double share = work > left ? left / work : 1;
  split.encode_s = share * round.encode_s;
  split.apply_s = share * round.apply_s;
  split.step_s = share * round.step_s;
  left = std::max(0.0, left - share * work);
  for (const LinkRecord& link : round.links)
    split.wire_s = std::max(split.wire_s, std::min(left, sending_s(link)));
  split.wait_s = left - split.wire_s;
  return split;
}

double sending_s(const LinkRecord& link) {
  const bool emulated = link.true_rate_bits_per_s.has_value();
  if (!emulated && link.rate_is_lower_bound) return 0;
  const auto& known = emulated ? link.true_rate_bits_per_s : link.rate_bits_per_s;
  if (!known) return link.wire_s;
  return std::min(link.wire_s, kBitsPerByte * static_cast<double>(link.bytes) / *known);
}

std::optional<RunMeasures> measure(const RunHistory& history) {
  RunMeasures measures;
  Round begin = 0, end = kNoRound;
  for (const NodeHistory& node : history.nodes) {
    if (node.rounds.empty()) continue;  // its machine keeps its file
    begin = std::max(begin, node.rounds.front().round);
    end = std::min(end, node.rounds.back().round + 1);
  }
  if (begin >= end) return std::nullopt;
  const bool closes = std::ranges::any_of(history.nodes, [&](const NodeHistory& node) {
    return !node.rounds.empty() && node.rounds.back().round + 1 == end &&
           node.rounds.back().closing;
  });
  if (closes && end - begin > 1) --end;
  measures.first = begin + (end - begin) / kWarmUpDivisor;
  measures.end = end;
  measure_rounds(history, measures);
  for (const NodeHistory& node : history.nodes)
    measures.nodes.push_back(measure_node(measured(node, measures.first, measures.end)));
  measure_links(history, measures);
  return measures;
}

}  // namespace kimesh
