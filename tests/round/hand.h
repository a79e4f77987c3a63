// A core in the hands of a test: events in by hand, the answer to the last one to look at.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kimesh/round/core.h"

namespace kimesh::test {

// n0 serves, n1 works: one shard, two links, two channels.
inline Plan two_nodes() {
  TopologyFile topology;
  topology.kind = TopologyKind::kParameterServer;
  for (const char* name : {"n0", "n1"}) {
    NodeSpec node;
    node.name = name;
    topology.nodes.push_back(node);
  }
  topology.servers = {0};
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
  [[nodiscard]] T get() const {
    for (const Action& action : actions)
      if (const T* found = std::get_if<T>(&action)) return *found;
    ADD_FAILURE() << "no such action among " << actions.size();
    return T{};
  }
};

inline AdvanceDone advanced(const AdvanceChannel& action) {
  const bool dense = action.setting.budget.is_dense();
  return {
      action.channel, action.round, 1, 80, dense ? Form::kDense : Form::kSparse, 1.0, 0.5, 0, {}};
}
inline ApplyDone applied(const ApplyMessage& action) {
  return {action.channel, action.round, 0, {}};
}

class Hand {
 public:
  Hand(Plan the_plan, NodeIndex self, const CoreOptions& options = default_options(),
       const DecisionSource* replay = nullptr)
      : plan(std::move(the_plan)), core(plan, self, options, replay) {}

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
  const Answer& feed(const Event& event) {
    answer_.actions.clear();
    core.handle(now_, event, answer_.actions);
    return answer_;
  }
  [[nodiscard]] const Answer& last() const { return answer_; }
  void wait(Duration duration) { now_ += duration; }

  // A dense reduce message of shard 0 from `node`.
  [[nodiscard]] MessageArrived reduce_from(NodeIndex node, Round round) const {
    Message message;
    message.channel = *plan.find_channel(*plan.find_link(node, 0), 0, Phase::kReduce);
    message.round = round;
    message.form = Form::kDense;
    ControlVector control;
    control.nodes = 1;
    message.control = control.to_control();
    return {message, 7};
  }
  [[nodiscard]] ChannelIndex gather_to(NodeIndex node) const {
    return *plan.find_channel(*plan.find_link(0, node), 0, Phase::kGather);
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
  Core core;

 private:
  TimePoint now_{std::chrono::seconds(1)};
  Answer answer_;
};

}  // namespace kimesh::test
