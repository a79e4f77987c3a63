#include "tests/quadratic_mesh/mesh.h"

#include <algorithm>
#include <cmath>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/optimizer/optimizer.h"

namespace kimesh::test {

MeshSpec auto_spec(const std::string& kind) {
  MeshSpec spec;
  spec.kind = kind;
  spec.dimension = 20'000;
  spec.optimizer =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true}");
  spec.core.feedback = Feedback::kEf14;
  spec.core.gather = Gather::kShared;
  spec.core.policy = {policy_options("auto"), make_codec("dzq")};
  return spec;
}

void RecordedDecisions::add(NodeIndex node, const Decision& d) {
  switch (d.kind) {
    case Decision::Kind::kSetting:
      settings_[{d.channel, d.round}] = d.setting;
      return;
    case Decision::Kind::kReset:
      resets_[{d.channel, d.round}] = true;
      ++resets;
      return;
    case Decision::Kind::kClosing:
      closings_[d.round] = d.verdict;
      return;
    case Decision::Kind::kConfirmedStop:
      stops_[d.round] = d.verdict;
      return;
    case Decision::Kind::kPace:
      paces_[d.round] = {0, d.verdict.ahead, d.verdict.local_steps, d.verdict.mean_multiple};
      return;
    case Decision::Kind::kMultiple:
      multiples_[{node, d.round}] = d.multiple;
      return;
    case Decision::Kind::kCheckpoint:
      checkpoints_.insert(d.round);
      return;
    case Decision::Kind::kResume:
      return;
  }
}

std::optional<Setting> RecordedDecisions::setting(ChannelIndex channel, Round round) const {
  const auto found = settings_.find({channel, round});
  return found == settings_.end() ? std::nullopt : std::optional(found->second);
}

bool RecordedDecisions::reset(ChannelIndex channel, Round round) const {
  return resets_.count({channel, round}) > 0;
}

std::optional<Verdict> RecordedDecisions::closing(Round round) const {
  const auto found = closings_.find(round);
  return found == closings_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Verdict> RecordedDecisions::confirmed_stop(Round round) const {
  const auto found = stops_.find(round);
  return found == stops_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Pace> RecordedDecisions::pace(Round round) const {
  const auto found = paces_.find(round);
  return found == paces_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<unsigned> RecordedDecisions::multiple(NodeIndex node, Round round) const {
  const auto found = multiples_.find({node, round});
  return found == multiples_.end() ? std::nullopt : std::optional(found->second);
}

bool RecordedDecisions::checkpoint(Round round) const {
  return checkpoints_.contains(round);
}

void RecordedDecisions::forget_from(Round round) {
  std::erase_if(settings_, [&](const auto& entry) { return entry.first.second >= round; });
  std::erase_if(resets_, [&](const auto& entry) { return entry.first.second >= round; });
  std::erase_if(multiples_, [&](const auto& entry) { return entry.first.second >= round; });
  const auto is_late = [&](const auto& entry) { return entry.first >= round; };
  std::erase_if(closings_, is_late);
  std::erase_if(stops_, is_late);
  std::erase_if(paces_, is_late);
  std::erase_if(checkpoints_, [&](Round at) { return at >= round; });
}

TopologyFile make_topology(const std::string& kind, std::size_t nodes,
                           std::vector<NodeIndex> servers) {
  TopologyFile topology;
  std::string edges;
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = "tcp://127.0.0.1:" + std::to_string(7101 + i);
    topology.nodes.push_back(node);
    for (const std::size_t back : {3, 1})
      if (i >= back)
        edges += (edges.empty() ? "n" : ", n") + std::to_string(i - back) + "-" + node.name;
  }
  topology.servers = std::move(servers);
  const std::map<std::string, std::string> keys{{"tree", "fan_out: 2"},
                                                {"graph", "edges: [" + edges + "]"},
                                                {"torus", "rows: 2\ncolumns: 3"}};
  const auto found = keys.find(kind);
  const auto problems = set_kind(topology, kind, found == keys.end() ? "" : found->second);
  KIMESH_CHECK(problems.empty(), "a right topology");
  return topology;
}

Mesh::Mesh(const MeshSpec& the_spec) : spec(the_spec) {
  topology = spec.file.empty() ? make_topology(spec.kind, spec.nodes, spec.servers)
                               : load_topology(spec.file).value;
  spec.nodes = topology.nodes.size();
  plan = *make_plan(topology, Layout::vector(spec.dimension), spec.shard_elements_max);
  std::vector<double> weights = spec.weights;
  if (weights.empty()) weights.assign(spec.nodes, 1.0 / static_cast<double>(spec.nodes));
  QuadraticOptions config;
  config.dimension = spec.dimension;
  config.condition = spec.condition;
  config.heterogeneity = spec.heterogeneity;
  problem = make_quadratic(config, spec.nodes, weights, spec.seed);
  setup.plan = &plan;
  setup.costs.node_gradients = spec.gradients;
  for (NodeIndex i = 0; i < spec.nodes; ++i) {
    SimulatedNode node;
    node.objective = make_quadratic_objective(problem, i);
    node.core = spec.core;
    node.core.has_test_set = false;
    node.core.data_weight = weights[i];
    node.vectors.optimizer = spec.optimizer;
    node.vectors.data_weight = weights[i];
    node.vectors.keeps_estimates = !spec.core.policy.sends_everything();
    node.vectors.feedback = spec.core.feedback;
    node.vectors.gather = spec.core.gather;
    node.vectors.one_point = spec.core.one_point;
    node.vectors.looks_ahead = spec.core.look_ahead != Use::kNever;
    node.vectors.local_steps_vary = spec.core.local_steps_vary;
    if (!spec.local_steps.empty())
      node.vectors.local_steps = local_steps_of(i, spec.local_steps, weights);
    setup.nodes.push_back(std::move(node));
  }
  LinkSpec link;
  link.rate = RateTrace{{{0.0, spec.rate_bits_per_s}}};
  link.delay = spec.delay;
  setup.links.assign(plan.links.size(), link);
  setup.seconds_max = 10000;  // virtual: a mesh that waits for ever is a failure, not a hang
  reports.resize(spec.nodes);
  observer.report = [this](NodeIndex node, TimePoint, const RoundReport& report) {
    reports[node].push_back(report);
  };
  observer.decision = [this](NodeIndex node, TimePoint, const Decision& d) {
    decisions.add(node, d);
  };
  observer.notice = [this](NodeIndex, TimePoint, const std::string& text) {
    notices.push_back(text);
  };
}

void Mesh::run() {
  simulator = std::make_unique<Simulator>(std::move(setup), observer);
  simulator->run();
}

bool Mesh::done() const {
  for (NodeIndex i = 0; i < spec.nodes; ++i)
    if (!simulator->end(i).finished || simulator->end(i).outcome != Outcome::kDone) return false;
  return true;
}

std::string Mesh::ends() const {
  std::string text;
  for (NodeIndex i = 0; i < spec.nodes; ++i) {
    const SimulatedEnd& end = simulator->end(i);
    text += plan.view.nodes[i] + (end.finished ? " finished: " : " waits for ") +
            (end.finished ? end.text : simulator->core(i).waiting_for()) + "\n";
  }
  return text;
}

std::vector<float> joined_descent(const QuadraticProblem& problem,
                                  const OptimizerOptions& optimizer, Round rounds) {
  std::vector<float> x(problem.dimension), v(problem.dimension), g(problem.dimension);
  kernels::Memory& host = kernels::host_memory();
  auto owner = ShardOptimizer::create(optimizer, host, problem.dimension);
  const kernels::MemorySpan parameters(x), gradient(g), velocity(v);
  for (Round k = 0; k < rounds; ++k) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < problem.a.size(); ++i)
        sum += problem.weights[i] * problem.a[i][j] * (static_cast<double>(x[j]) - problem.b[i][j]);
      g[j] = static_cast<float>(sum);
    }
    prepare_gradient(
        optimizer, host,
        {parameters, gradient, optimizer.keeps_velocity() ? velocity : kernels::MemorySpan()});
    owner->step(k, parameters, optimizer.sends_velocity() ? velocity : gradient);
  }
  return x;
}

double relative_l2(std::span<const float> a, std::span<const float> b) {
  double difference = 0, norm = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    difference += (static_cast<double>(a[j]) - b[j]) * (static_cast<double>(a[j]) - b[j]);
    norm += static_cast<double>(b[j]) * b[j];
  }
  return std::sqrt(difference / norm);
}

}  // namespace kimesh::test
