#include "kimesh/run/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/run/options.h"
#include "kimesh/util/check.h"
#include "kimesh/util/random.h"

namespace kimesh {
namespace {

// Limit the elements of all nodes and rounds together, and their messages: some seconds of a core,
// whatever the model.
constexpr double kElementsMax = 1e9, kMessagesMax = 1e6;
// The least number of rounds shows the steady state of policies that do not measure links. Policies
// that measure them reach theirs within a hundred rounds.
constexpr double kRoundsMin = 8;
// Limits the elements of all nodes together, each of which is in some eight vectors: 6 GB at most.
constexpr double kMeshElementsMax = 2e8;

// Stands in for the model, of which it has nothing but the layout. Its gradients are noise with a
// few large elements, as gradients have, and a pull that keeps parameters near where they began.
class StandIn final : public Objective {
 public:
  StandIn(const Layout& layout, NodeIndex node) : layout_(layout), node_(node) {}

  const Layout& layout() const override { return layout_; }
  void initialise(std::span<float> parameters) override { std::ranges::fill(parameters, 0.0f); }
  void bind(std::span<float> parameters, std::span<float> gradient) override {
    KIMESH_CHECK(parameters.size() == gradient.size(), "both have the layout's size");
    parameters_ = parameters;
    gradient_ = gradient;
  }
  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    Random random(0, node_, static_cast<Round>(batch), Purpose::kNoise);
    for (std::size_t j = 0; j < gradient_.size(); ++j) {
      const auto u = static_cast<float>(random.next_u32()) / 4294967296.0f - 0.5f;
      gradient_[j] = 8 * u * u * u + 0.01f * parameters_[j];
    }
    return GradientNumbers{0, 1};
  }

 private:
  const Layout& layout_;
  NodeIndex node_;
  std::span<float> parameters_, gradient_;
};

Round rounds_for(const Plan& plan, Round most) {
  const double elements =
      static_cast<double>(plan.layout.size()) * static_cast<double>(plan.view.nodes.size());
  const auto messages = static_cast<double>(plan.channels.size());
  return static_cast<Round>(std::clamp(std::min(kElementsMax / elements, kMessagesMax / messages),
                                       kRoundsMin, static_cast<double>(most)));
}

// Measured rounds are [first, first + count) of every node.
struct Measured {
  Round first = 0, count = 0;
  std::vector<TimePoint> begun, ended;  // by node: of the first and of the last
  std::vector<double> bytes;            // by link, of all
  std::vector<Round> seen;              // by node

  void add(NodeIndex node, const RoundReport& report) {
    if (report.confirmation || report.round < first || report.round >= first + count) return;
    if (report.round == first) begun[node] = report.begun;
    ended[node] = report.ended;
    ++seen[node];
    for (const LinkReport& link : report.links) bytes[link.link] += static_cast<double>(link.bytes);
  }
};

SimulationSetup make_setup(RunConfig config, const TopologyFile& topology, const Plan& plan,
                           std::span<const double> weights, Round rounds) {
  config.compression.local_steps = config.compression.local_steps.value_or(1);
  SimulationSetup setup;
  setup.plan = &plan;
  for (NodeIndex i = 0; i < plan.view.nodes.size(); ++i) {
    setup.nodes.push_back(
        simulated_node(config, topology, i, weights, std::make_unique<StandIn>(plan.layout, i)));
    setup.nodes.back().vectors.local_steps = {};  // their time is charged, not their work
    CoreOptions& core = setup.nodes.back().core;
    core.stop_rounds = rounds + 2;  // the end has messages of its own kind: they are not measured
    core.stop_accuracy.reset();
    core.stop_loss.reset();
    core.stop_time.reset();
    core.traffic_bytes.reset();
    core.evaluate_every = 0;
    core.has_test_set = false;
    core.digest_shards = false;
  }
  setup.links = simulated_links(topology, plan);
  for (LinkSpec& link : setup.links)
    if (link.rate) link.rate = RateTrace{{{0, link.rate->mean()}}};
  return setup;
}

std::string what_went_wrong(const Simulator& simulator, const Plan& plan) {
  for (NodeIndex i = 0; i < plan.view.nodes.size(); ++i) {
    const SimulatedEnd& end = simulator.end(i);
    if (end.finished && end.outcome == Outcome::kDone) continue;
    return "node " + plan.view.nodes[i] + ": " +
           (end.finished ? end.text : "waits for " + simulator.core(i).waiting_for());
  }
  return {};
}

}  // namespace

Prediction predict(const RunConfig& config, const TopologyFile& topology, const Plan& plan,
                   std::span<const double> weights, const SimulatedCosts& costs, Round rounds_max) {
  KIMESH_CHECK(rounds_max >= kRoundsMin, "so many rounds are a steady state");
  KIMESH_CHECK(weights.size() == plan.view.nodes.size(), "each node has a weight");
  Prediction prediction;
  const double elements =
      static_cast<double>(plan.layout.size()) * static_cast<double>(weights.size());
  if (elements > kMeshElementsMax) {
    prediction.trouble = fmt::format(
        "{} nodes with {} parameters each are more than one machine should simulate; predict with "
        "a smaller model and scale round_time and the bytes by the size",
        weights.size(), plan.layout.size());
    return prediction;
  }
  prediction.rounds = rounds_for(plan, rounds_max);
  Measured measured;
  measured.first = prediction.rounds / 2;
  measured.count = prediction.rounds - measured.first;
  measured.begun.resize(weights.size());
  measured.ended.resize(weights.size());
  measured.seen.resize(weights.size());
  measured.bytes.resize(plan.links.size());

  SimulationSetup setup = make_setup(config, topology, plan, weights, prediction.rounds);
  setup.costs = costs;
  setup.costs.gradient *= std::ranges::max(local_steps(config, topology));
  const std::vector<LinkSpec> links = setup.links;
  SimulationObserver observer;
  observer.report = [&](NodeIndex node, TimePoint, const RoundReport& report) {
    measured.add(node, report);
  };
  Simulator simulator(std::move(setup), observer);
  simulator.run();
  prediction.trouble = what_went_wrong(simulator, plan);
  if (!prediction.trouble.empty()) return prediction;

  for (NodeIndex i = 0; i < weights.size(); ++i) {
    KIMESH_CHECK(measured.seen[i] == measured.count, "every round is reported once");
    const double seconds = to_seconds(measured.ended[i] - measured.begun[i]);
    prediction.round_s = std::max(prediction.round_s, seconds / measured.count);
  }
  for (LinkIndex link = 0; link < links.size(); ++link) {
    PredictedLink& predicted = prediction.links.emplace_back();
    predicted.bytes_per_round = measured.bytes[link] / measured.count;
    if (!links[link].rate) continue;
    predicted.rate_bits_per_s = links[link].rate->at(0);
    predicted.busy = 8 * predicted.bytes_per_round / predicted.rate_bits_per_s / prediction.round_s;
  }
  return prediction;
}

}  // namespace kimesh
