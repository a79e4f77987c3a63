// A core in the hands of a test: events in by hand, the answer to the last one to look at.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kimesh/compress/codecs.h"
#include "kimesh/round/core.h"

namespace kimesh::test {

// n0 serves, n1 works: one shard, two links, two channels.
inline Plan two_nodes() {
  TopologyFile topology;
  topology.kind = topology_kinds().make("parameter_server");
  for (const char* name : {"n0", "n1"}) {
    NodeSpec node;
    node.name = name;
    topology.nodes.push_back(node);
  }
  topology.servers = {0};
  return *make_plan(topology, Layout::vector(1000));
}

inline TopologyFile nodes_of(std::size_t nodes) {
  TopologyFile topology;
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = std::string("n").append(std::to_string(i));
    topology.nodes.push_back(node);
  }
  return topology;
}

// n0 -> n1 -> ... -> n0; each node owns a shard.
inline Plan ring_of(std::size_t nodes) {
  TopologyFile topology = nodes_of(nodes);
  EXPECT_TRUE(set_kind(topology, "ring").empty());
  return *make_plan(topology, Layout::vector(300 * static_cast<std::uint32_t>(nodes)));
}

// Node i hangs on parents[i]; n0 is the root, and owns the only shard.
inline Plan tree_of(const std::vector<NodeIndex>& parents) {
  TopologyFile topology = nodes_of(parents.size());
  topology.servers = {0};
  std::string keys = "parents:\n";
  for (std::size_t i = 1; i < parents.size(); ++i)
    keys += "  n" + std::to_string(i) + ": n" + std::to_string(parents[i]) + "\n";
  EXPECT_TRUE(set_kind(topology, "tree", keys).empty());
  return *make_plan(topology, Layout::vector(1000));
}

// What a core answered.
class Answer {
 public:
  std::vector<Action> actions;
  [[nodiscard]] bool empty() const { return actions.empty(); }
  template <typename T>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(),
                      [](const Action& a) { return std::holds_alternative<T>(a); }));
  }
  template <typename T>
  [[nodiscard]] bool has() const {
    return count<T>() > 0;
  }
  // The first of its kind; a default one, and a failure, when there is none.
  template <typename T>
  [[nodiscard]] const T& get() const {
    for (const Action& action : actions)
      if (const T* found = std::get_if<T>(&action)) return *found;
    ADD_FAILURE() << "no such action among " << actions.size();
    static const T kNone{};
    return kNone;
  }
  // All of its kind, in their order.
  template <typename T>
  [[nodiscard]] std::vector<const T*> all() const {
    std::vector<const T*> found;
    for (const Action& action : actions)
      if (const T* one = std::get_if<T>(&action)) found.push_back(one);
    return found;
  }
};

// The ends of work. A message of 80 bytes each time.
inline AdvanceDone advanced(const AdvanceChannel& work) {
  AdvanceDone done;
  done.channel = work.channel;
  done.round = work.round;
  done.form = work.setting.budget.is_dense() ? Form::kDense : Form::kSparse;
  done.wanted_energy = 1;
  done.energy_to_send = 1;
  done.missing_energy = 0.5;
  done.payload = Payload(std::vector<std::byte>(80));
  return done;
}
inline ApplyDone applied(const ApplyMessage& work) {
  return {work.channel, work.round, 0, {}};
}

class Hand {
 public:
  Hand(Plan the_plan, NodeIndex the_self, const CoreOptions& options = default_options(),
       const DecisionSource* replay = nullptr)
      : plan(std::move(the_plan)), self(the_self), core(plan, self, options, replay) {}

  static CoreOptions default_options() {
    CoreOptions options;
    options.policy = {policy_options("fixed", {{"ratio", "0.1"}}), make_codec("topk")};
    options.data_weight = 0.5;
    options.has_test_set = false;
    options.dead_after = std::chrono::seconds(10);
    return options;
  }

  const Answer& start() {
    answer_.actions.clear();
    core.start(now_, answer_.actions);
    return answer_;
  }
  const Answer& feed(Event event) {
    answer_.actions.clear();
    core.handle(now_, std::move(event), answer_.actions);
    core.catch_up();
    return answer_;
  }
  [[nodiscard]] const Answer& last() const { return answer_; }
  void wait(Duration duration) { now_ += duration; }

  // A dense message of the core's child or parent `node`. A reduce's control counts `nodes`.
  [[nodiscard]] MessageArrived from(NodeIndex node, ShardIndex shard, Phase phase, Round round,
                                    double nodes = 1) const {
    Message message;
    message.round = round;
    message.shard = shard;
    message.phase = phase;
    message.form = Form::kDense;
    if (shard == 0 && phase == Phase::kReduce) {
      ControlVector control;
      control.nodes = nodes;
      message.control = control.to_control();
    }
    return {*plan.find_link(node, self), std::move(message)};
  }
  // A reduce message of shard 0.
  [[nodiscard]] MessageArrived reduce_from(NodeIndex node, Round round, double nodes = 1) const {
    return from(node, 0, Phase::kReduce, round, nodes);
  }
  // The message comes, and is applied.
  void apply(MessageArrived arrived) {
    feed(std::move(arrived));
    feed(applied(last().get<ApplyMessage>()));
  }
  // What `node` says about the gather message of shard 0 that it got.
  [[nodiscard]] MessageApplied gather_applied(NodeIndex node, Round round,
                                              ApplyOutcome outcome) const {
    return {*plan.find_link(self, node), {round, 0, 0, Phase::kGather, outcome}};
  }
  // The server's side of a round, up to its gather message.
  void round_of_the_server(Round round) {
    feed(GradientDone{round, 1.0, {}});
    feed(reduce_from(1, round));
    feed(applied(last().get<ApplyMessage>()));
    feed(StepDone{0, round, 0, {}});
    feed(advanced(last().get<AdvanceChannel>()));
  }

  const Plan plan;
  const NodeIndex self;
  Core core;

 private:
  TimePoint now_{std::chrono::seconds(1)};
  Answer answer_;
};

}  // namespace kimesh::test
