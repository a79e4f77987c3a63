#include "kimesh/report/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/run/compare_joins.h"
#include "kimesh/run/options.h"
#include "kimesh/util/check.h"
#include "kimesh/util/units.h"

namespace kimesh {
namespace {

// Elements of all nodes together: predict() then takes about half a second for its rounds.
constexpr double kElementsMax = 4e5;
// The same where arrangements are compared, of which there are up to nine.
constexpr double kElementsMaxOfJoins = 1e5;
// The search for them takes a few tenths of a second then, and may miss the best.
constexpr std::size_t kLaidOutMaxOfJoins = 1000;
constexpr double kRateFactor = 2;

// A topology whose links have the rates that were measured, and those that were not, the rate that
// was declared.
TopologyFile measured_topology(const RunHistory& history, const RunMeasures& measures,
                               const Change& change, double scale) {
  TopologyFile topology = history.topology;
  topology.links.clear();
  for (NodeSpec& node : topology.nodes) {
    // What shares an uplink was measured as it is shared.
    node.uplink_bits_per_s.reset();
    node.downlink_bits_per_s.reset();
    node.max_rate_bits_per_s.reset();
    node.traffic_bytes.reset();
  }
  for (LinkIndex index = 0; index < measures.links.size(); ++index) {
    const LinkMeasures& link = measures.links[index];
    const auto [from, to] = history.plan.links[index];
    LinkSpec spec = history.topology.link(from, to);
    const auto rate = link.rate_bits_per_s ? link.rate_bits_per_s : link.true_rate_bits_per_s;
    const bool faster = change.all_links_faster || change.faster_link == index;
    if (rate) spec.rate = RateTrace{{{0, *rate * scale * (faster ? kRateFactor : 1)}}};
    spec.delay = std::max(spec.delay, from_seconds(link.fixed_cost_s / 2));
    topology.links.push_back({from, to, spec});  // links of a plan are sorted, as these are
  }
  return topology;
}

SimulatedCosts measured_costs(const RunMeasures& measures, const Change& change, double scale) {
  SimulatedCosts costs;
  for (double* cost :
       {&costs.encode_s_per_element, &costs.apply_s_per_element, &costs.step_s_per_element,
        &costs.encode_s_per_coded_byte, &costs.decode_s_per_coded_byte})
    *cost /= scale;
  // A node whose file another machine keeps is taken for one like the others.
  std::vector<double> gradients, others;
  for (NodeIndex node = 0; node < measures.nodes.size(); ++node)
    if (measures.nodes[node].rounds > 0 && change.faster_node != node)
      others.push_back(measures.nodes[node].gradient_s.p50);
  const double usual = spread_of(std::move(others)).p50;
  for (NodeIndex node = 0; node < measures.nodes.size(); ++node) {
    const bool known = measures.nodes[node].rounds > 0 && change.faster_node != node;
    gradients.push_back(known ? measures.nodes[node].gradient_s.p50 : usual);
  }
  for (const double seconds : gradients)
    costs.node_gradients.push_back(from_seconds(seconds * change.more_steps));
  return costs;
}

// max_rate is none: it says what a node may use of links that are what they are.
bool has_emulated_rates(const TopologyFile& topology) {
  const auto rated = [](const TopologyFile::NamedLink& link) { return link.spec.rate.has_value(); };
  const auto shared = [](const NodeSpec& node) {
    return node.uplink_bits_per_s || node.downlink_bits_per_s;
  };
  return topology.default_link.rate || std::ranges::any_of(topology.links, rated) ||
         std::ranges::any_of(topology.nodes, shared);
}

// The rates of all pairs that are known. Emulated links are what the topology says; others are what
// the run has measured.
PairRates known_rates(const RunHistory& history, const RunMeasures& measures, bool emulated) {
  PairRates rates = PairRates::declared(history.topology);
  if (emulated) return rates;
  rates = PairRates(history.topology.nodes.size());
  for (const LinkMeasures& link : measures.links) {
    const auto [from, to] = history.plan.links[link.link];
    rates.at(from, to) = {link.rate_bits_per_s, link.fixed_cost_s / 2};
  }
  return rates;
}

void scale_rates(PairRates& rates, TopologyFile& topology, double scale) {
  const auto scaled = [scale](std::optional<double>& bits_per_s) {
    if (bits_per_s) *bits_per_s *= scale;
  };
  for (NodeIndex from = 0; from < rates.nodes(); ++from)
    for (NodeIndex to = 0; to < rates.nodes(); ++to) scaled(rates.at(from, to).bits_per_s);
  for (NodeSpec& node : topology.nodes)
    for (auto* bits_per_s :
         {&node.uplink_bits_per_s, &node.downlink_bits_per_s, &node.max_rate_bits_per_s})
      scaled(*bits_per_s);
}

// Elements of a stand-in over those of the model, so that all nodes together have `most`.
double scale_to(double most, const RunHistory& history) {
  return std::min(1.0, most / (static_cast<double>(history.plan.layout.size()) *
                               static_cast<double>(history.nodes.size())));
}

Layout stand_in(const RunHistory& history, double scale) {
  const auto size = static_cast<double>(history.plan.layout.size()) * scale;
  return Layout::vector(
      std::max<std::size_t>(static_cast<std::size_t>(size), 4 * history.topology.servers.size()));
}

// The scale that a stand-in really has: stand_in() makes it no smaller than four elements a server.
double scale_of(const Layout& stand_in, const RunHistory& history) {
  return static_cast<double>(stand_in.size()) / static_cast<double>(history.plan.layout.size());
}

}  // namespace

WhatIf::WhatIf(const RunHistory& history, const RunMeasures& measures)
    : history_(history), measures_(measures) {
  if (!history.layout_known) {
    trouble_ = "the run does not tell the sizes of its model";
    return;
  }
  scale_ = scale_to(kElementsMax, history);
  const Layout layout = stand_in(history, scale_);
  auto plan = make_plan(history.topology, layout,
                        shard_elements_max(history.config, scale_of(layout, history)));
  if (!plan) {
    trouble_ = plan.error().message;
    return;
  }
  plan_ = std::move(*plan);
  base_ = simulate({});
  if (!base_) {
    trouble_ = "the mesh as it was could not be simulated";
    return;
  }
  fidelity_ = base_->round_s / measures.mean_round_s;
  if (!is_believed(base_->round_s))
    trouble_ = fmt::format("simulated with what was measured, its rounds take {} in place of {}",
                           format_duration(from_seconds(base_->round_s)),
                           format_duration(from_seconds(measures.mean_round_s)));
}

bool WhatIf::is_believed(double round_s) const {
  return std::abs(std::log(round_s / measures_.mean_round_s)) <= std::log(kBelievedMax);
}

std::optional<Prediction> WhatIf::simulate(const Change& change) const {
  const TopologyFile topology = measured_topology(history_, measures_, change, scale_);
  const std::vector<double> weights(history_.nodes.size(),
                                    1.0 / static_cast<double>(history_.nodes.size()));
  Prediction prediction =
      predict(history_.config, topology, plan_, weights, measured_costs(measures_, change, scale_));
  if (prediction.trouble.empty()) return prediction;
  return std::nullopt;
}

std::optional<Outcomes> WhatIf::relative(const Change& change) const {
  KIMESH_CHECK(trouble_.empty(), "simulations are believed");
  const auto changed = simulate(change);
  if (!changed) return std::nullopt;
  Outcomes outcomes{changed->round_s / base_->round_s, {}};
  for (std::size_t link = 0; link < changed->links.size(); ++link) {
    const double before = base_->links[link].bytes_per_round;
    outcomes.bytes.push_back(before > 0 ? changed->links[link].bytes_per_round / before : 1);
  }
  return outcomes;
}

std::optional<OtherJoins> WhatIf::other_joins() const {
  KIMESH_CHECK(trouble_.empty(), "simulations are believed");
  OtherJoins other;
  other.emulated = has_emulated_rates(history_.topology);
  PairRates rates = known_rates(history_, measures_, other.emulated);
  other.unknown_pairs = unknown_pairs(rates);
  TopologyFile topology = history_.topology;
  const double scale = scale_to(kElementsMaxOfJoins, history_);
  const Layout layout = stand_in(history_, scale);
  scale_rates(rates, topology, scale);
  const std::vector<double> weights(topology.nodes.size(),
                                    1.0 / static_cast<double>(topology.nodes.size()));
  const SimulatedCosts costs = measured_costs(measures_, {}, scale);
  const ComparedMesh mesh{topology, layout, weights, rates, costs, scale_of(layout, history_)};
  const auto before = simulated_round(mesh, history_.config, as_it_is(mesh));
  if (!before || !is_believed(*before)) return std::nullopt;
  const auto all = compare_joins(mesh, history_.config, kLaidOutMaxOfJoins);
  if (!all || all->empty()) return std::nullopt;
  const ComparedJoins& best = all->front();
  const auto after = simulated_round(mesh, history_.config, best.made);
  if (!after) return std::nullopt;
  other.round = *after / *before;
  other.text = joins_text(best.suggestion.arrangement, topology);
  return other;
}

}  // namespace kimesh
