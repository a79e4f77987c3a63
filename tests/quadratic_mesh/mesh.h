// Meshes of quadratics for tests: a topology in code, problems with known answers, and what a run
// left.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kimesh/objective/quadratic.h"
#include "kimesh/sim/simulator.h"

namespace kimesh::test {

struct MeshSpec {
  std::string kind = "ring";
  std::size_t nodes = 4;
  std::vector<NodeIndex> servers;  // empty means all; a ring knows nothing else
  // A topology file in place of these three. Mesh counts its nodes into `nodes` and gives its links
  // the rate below.
  std::string file;
  std::uint32_t dimension = 60;
  std::optional<std::size_t> shard_elements_max{};  // make_plan
  double condition = 100;
  double heterogeneity = 1;
  std::vector<double> weights;  // empty: equal
  std::uint64_t seed = 1;
  OptimizerOptions optimizer;
  CoreOptions core;                   // of every node
  std::vector<unsigned> local_steps;  // by node; empty: one each
  std::vector<Duration> gradients;    // virtual time, by node; empty: all alike
  double rate_bits_per_s = 10e6;      // of every link
  Duration delay{0};
};

// A mesh of 20,000 elements under `policy: auto` as configs get it, with nesterov momentum.
[[nodiscard]] MeshSpec auto_spec(const std::string& kind);

// Decisions of all nodes, as a replay needs them.
class RecordedDecisions : public DecisionSource {
 public:
  void add(NodeIndex node, const Decision& decision);
  [[nodiscard]] std::optional<Setting> setting(ChannelIndex channel, Round round) const override;
  [[nodiscard]] bool reset(ChannelIndex channel, Round round) const override;
  [[nodiscard]] std::optional<Verdict> closing(Round round) const override;
  [[nodiscard]] std::optional<Verdict> confirmed_stop(Round round) const override;
  [[nodiscard]] std::optional<Pace> pace(Round round) const override;
  [[nodiscard]] std::optional<unsigned> multiple(NodeIndex node, Round round) const override;
  [[nodiscard]] bool checkpoint(Round round) const override;
  // The run went on with `round`: what was decided on it and later ones is void.
  void forget_from(Round round);
  std::size_t resets = 0;

 private:
  std::map<std::pair<ChannelIndex, Round>, Setting> settings_;
  std::map<std::pair<ChannelIndex, Round>, bool> resets_;
  std::map<Round, Verdict> closings_, stops_;
  std::map<Round, Pace> paces_;
  std::map<std::pair<NodeIndex, Round>, unsigned> multiples_;
  std::set<Round> checkpoints_;
};

// The decisions of another run with other numbers of local steps: `steps(r)` is what the verdict of
// round r says, and `multiples(i, r)` what node i offers in it. `others` outlives this.
class StepsByRound : public DecisionSource {
 public:
  using Multiples = std::function<unsigned(NodeIndex, Round)>;
  StepsByRound(const DecisionSource& others, std::function<unsigned(Round)> steps,
               std::vector<double> weights = {}, Multiples multiples = {})
      : others_(others),
        steps_(std::move(steps)),
        weights_(std::move(weights)),
        multiples_(std::move(multiples)) {}
  [[nodiscard]] std::optional<Setting> setting(ChannelIndex channel, Round round) const override {
    return others_.setting(channel, round);
  }
  [[nodiscard]] bool reset(ChannelIndex channel, Round round) const override {
    return others_.reset(channel, round);
  }
  [[nodiscard]] std::optional<Verdict> closing(Round round) const override {
    return others_.closing(round);
  }
  [[nodiscard]] std::optional<Verdict> confirmed_stop(Round round) const override {
    return others_.confirmed_stop(round);
  }
  [[nodiscard]] std::optional<Pace> pace(Round round) const override {
    double mean = weights_.empty() ? 1 : 0;
    for (NodeIndex i = 0; i < weights_.size(); ++i) mean += weights_[i] * multiples_(i, round);
    return Pace{0, Ahead::kNo, steps_(round), mean};
  }
  [[nodiscard]] std::optional<unsigned> multiple(NodeIndex node, Round round) const override {
    return multiples_ ? std::optional(multiples_(node, round)) : std::nullopt;
  }
  [[nodiscard]] bool checkpoint(Round round) const override { return others_.checkpoint(round); }

 private:
  const DecisionSource& others_;
  std::function<unsigned(Round)> steps_;
  std::vector<double> weights_;  // ω of each node; empty: all multiples are 1
  Multiples multiples_;
};

// Plan, problem and setup of a mesh; change `setup` before run().
class Mesh {
 public:
  explicit Mesh(const MeshSpec& spec);

  void run();
  // All nodes ended well; what they said if not.
  [[nodiscard]] bool done() const;
  [[nodiscard]] std::string ends() const;

  MeshSpec spec;
  TopologyFile topology;
  Plan plan;
  QuadraticProblem problem;
  SimulationSetup setup;
  SimulationObserver observer;
  RecordedDecisions decisions;
  std::vector<std::vector<RoundReport>> reports;  // [node]
  std::vector<std::string> notices;
  std::unique_ptr<Simulator> simulator;
};

// A tree has two children a node; a graph joins each node with those one and three before it.
[[nodiscard]] TopologyFile make_topology(const std::string& kind, std::size_t nodes,
                                         std::vector<NodeIndex> servers = {});

// The single-process reference: the joined problem Σ ω_i f_i under the same optimizer, `rounds`
// steps from 0.
[[nodiscard]] std::vector<float> joined_descent(const QuadraticProblem& problem,
                                                const OptimizerOptions& optimizer, Round rounds);

// ‖a − b‖ / ‖b‖.
[[nodiscard]] double relative_l2(std::span<const float> a, std::span<const float> b);

}  // namespace kimesh::test
