// What a core costs per event, and what the simulator carries: meshes of small quadratics.
//
//   bench_core [--rounds N] [--json FILE]
#include <chrono>
#include <ctime>
#include <deque>
#include <fstream>

#include "kimesh/compress/codecs.h"
#include "kimesh/objective/quadratic.h"
#include "kimesh/sim/simulator.h"
#include "kimesh/util/check.h"
#include "kimesh/util/overloaded.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"

namespace kimesh::bench {
namespace {

constexpr unsigned kRuns = 5;

// Processor time: both work on one thread, and what else the machine does is not theirs.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

TopologyFile topology_of(const std::string& kind, std::size_t nodes, std::size_t servers) {
  TopologyFile topology;
  topology.kind = topology_kinds().make(kind);
  for (std::size_t i = 0; i < nodes; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    topology.nodes.push_back(node);
    if (i < servers) topology.servers.push_back(static_cast<NodeIndex>(i));
  }
  topology.default_link.rate = RateTrace{{{0, 10e6}}};
  return topology;
}

CoreOptions core_options(Round rounds) {
  CoreOptions options;
  options.policy = {policy_options("kimad"), make_codec("topk"), std::chrono::milliseconds(100)};
  options.stop_rounds = rounds;
  options.has_test_set = false;
  return options;
}

struct Recorded {
  TimePoint at;
  NodeIndex node;
  Event event;
};

Payload copy_of(const Payload& payload) {
  return Payload({payload.bytes().begin(), payload.bytes().end()});
}
Message copy_of(const Message& m) {
  return {m.round,   m.generation, m.shard,   m.phase,           m.form,
          m.restart, m.digest,     m.control, copy_of(m.payload)};
}
AdvanceDone copy_of(const AdvanceDone& d) {
  return {d.channel, d.round, d.form,  d.wanted_energy, d.energy_to_send, d.missing_energy,
          d.digest,  d.took,  d.curve, d.kept,          d.piece_kept,     copy_of(d.payload)};
}
// Events are moved, since payloads are; what was recorded is needed again.
Event copy_of(const Event& event) {
  return std::visit(Overloaded{[](const MessageArrived& e) -> Event {
                                 return MessageArrived{e.link, copy_of(e.message)};
                               },
                               [](const AdvanceDone& e) -> Event { return copy_of(e); },
                               [](const auto& e) -> Event { return e; }},
                    event);
}

// Carries out what cores say at once and in order: no vectors, and links that take a millisecond.
// What happened is what the cores are timed with afterwards.
class Loop {
 public:
  Loop(const Plan& plan, CoreOptions options) : plan_(plan) {
    for (NodeIndex i = 0; i < plan.view.nodes.size(); ++i) cores_.emplace_back(plan, i, options);
  }

  std::vector<Recorded> record() {
    for (NodeIndex i = 0; i < cores_.size(); ++i) {
      actions_.clear();
      cores_[i].start(now_, actions_);
      answer(i);
    }
    std::vector<Recorded> all;
    for (; !queue_.empty(); queue_.pop_front()) {
      now_ += std::chrono::microseconds(100);
      auto& [node, event] = queue_.front();
      all.push_back({now_, node, copy_of(event)});
      actions_.clear();
      cores_[node].handle(now_, std::move(event), actions_);
      answer(node);
    }
    for (const Core& core : cores_) KIMESH_CHECK(core.finished(), "the run ends");
    return all;
  }

 private:
  void tell(NodeIndex node, Event event) { queue_.emplace_back(node, std::move(event)); }

  void answer(NodeIndex self) {
    for (Action& action : actions_) std::visit([&](auto& a) { act(self, a); }, action);
  }
  void act(NodeIndex self, const ComputeGradient& a) {
    tell(self, GradientDone{a.round, 1, Duration(std::chrono::milliseconds(1))});
  }
  void act(NodeIndex self, const AdvanceChannel& a) {
    const auto bytes = bytes_of(a.setting, plan_.elements(a.channel));
    const bool dense = a.setting.budget.is_dense();
    AdvanceDone done;
    done.channel = a.channel;
    done.round = a.round;
    done.form = dense ? Form::kDense : Form::kSparse;
    done.wanted_energy = done.energy_to_send = 1;
    done.missing_energy = 0.5;
    done.digest = a.digest ? 1u : 0u;
    done.payload = Payload(std::vector<std::byte>(bytes));
    tell(self, std::move(done));
  }
  void act(NodeIndex self, const ApplyMessage& a) {
    tell(self, ApplyDone{a.channel, a.round, a.digest ? 1u : 0u, Duration{0}});
  }
  void act(NodeIndex self, const StepShard& a) {
    tell(self, StepDone{a.shard, a.round, 0, {}, Duration{0}});
  }
  void act(NodeIndex self, SendMessage& a) {
    LinkSample sample;
    sample.bytes = a.message.payload.size() + 100;
    sample.elapsed = std::chrono::milliseconds(10);
    sample.chunks = kChunksPerMessage;
    sample.tail_bytes = sample.bytes / 2;
    sample.tail_time = sample.elapsed / 2;
    tell(plan_.links[a.link].to, PeerHeard{self, a.link});
    tell(plan_.links[a.link].to, MessageArrived{a.link, std::move(a.message)});
    tell(self, MessageAcked{a.link, sample});
  }
  void act(NodeIndex, const SendApplied& a) {
    tell(plan_.links[a.link].from, MessageApplied{a.link, a.applied});
  }
  void act(NodeIndex self, const SendBye&) {
    for (const Link& link : plan_.links) {
      if (link.from == self) tell(link.to, PeerBye{self});
      if (link.to == self) tell(link.from, PeerBye{self});
    }
  }
  void act(NodeIndex, const Finish& a) {
    if (a.outcome != Outcome::kDone) check_failed(__FILE__, __LINE__, "a good end", a.text.c_str());
  }
  template <typename Watched>
  void act(NodeIndex, const Watched&) {}  // for whoever watches; nobody does

  const Plan& plan_;
  std::vector<Core> cores_;
  std::vector<Action> actions_;
  std::deque<std::pair<NodeIndex, Event>> queue_;
  TimePoint now_{};
};

void time_events(const TopologyFile& topology, const std::string& name, Round rounds,
                 Figures& figures) {
  const auto plan = make_plan(topology, Layout::vector(20'000));
  KIMESH_CHECK(plan.ok(), "a plan");
  const CoreOptions options = core_options(rounds);
  const std::vector<Recorded> all = Loop(*plan, options).record();
  std::vector<double> runs;
  for (unsigned run = 0; run < kRuns; ++run) {
    std::vector<Core> cores;
    for (NodeIndex i = 0; i < plan->view.nodes.size(); ++i) cores.emplace_back(*plan, i, options);
    std::vector<Action> actions;
    for (Core& core : cores) core.start(TimePoint{}, actions);
    std::vector<Recorded> events;
    for (const Recorded& one : all) events.push_back({one.at, one.node, copy_of(one.event)});
    const double begun = processor_seconds();
    for (Recorded& recorded : events) {
      actions.clear();
      cores[recorded.node].handle(recorded.at, std::move(recorded.event), actions);
    }
    runs.push_back(1e6 * (processor_seconds() - begun) / static_cast<double>(all.size()));
    for (const Core& core : cores) KIMESH_CHECK(core.finished(), "the replay ends as the run did");
  }
  figures.add("core, " + name + ": time per event", "us", runs);
}

void simulate(const TopologyFile& topology, const std::string& name, std::size_t dimension,
              Round rounds, unsigned repeats, Figures& figures) {
  const std::size_t nodes = topology.nodes.size();
  const auto plan = make_plan(topology, Layout::vector(dimension));
  KIMESH_CHECK(plan.ok(), "a plan");
  QuadraticOptions config;
  config.dimension = static_cast<std::uint32_t>(dimension);
  const QuadraticProblem problem = make_quadratic(config, nodes, {}, 1);
  std::vector<double> runs;
  for (unsigned run = 0; run < repeats; ++run) {
    SimulationSetup setup;
    setup.plan = &*plan;
    for (NodeIndex i = 0; i < nodes; ++i) {
      SimulatedNode node;
      node.objective = make_quadratic_objective(problem, i);
      node.core = core_options(rounds);
      node.core.data_weight = node.vectors.data_weight = 1.0 / static_cast<double>(nodes);
      setup.nodes.push_back(std::move(node));
    }
    setup.links.assign(plan->links.size(), topology.default_link);
    Simulator simulator(std::move(setup), {});
    const double begun = processor_seconds();
    simulator.run();
    runs.push_back(static_cast<double>(simulator.messages()) / (processor_seconds() - begun));
    KIMESH_CHECK(simulator.end(0).outcome == Outcome::kDone, "the run ends");
  }
  figures.add("simulator, " + name, "messages/s", runs);
}

int main(int count, char** words) {
  const Arguments said(count, words, {"--rounds", "--json"});
  const auto rounds = static_cast<Round>(std::stoul(said("--rounds", "300")));
  fmt::print("{}; medians of {} runs\n", machine(), kRuns);
  const std::string kRing = "ring", kServer = "parameter_server";
  Figures figures;
  time_events(topology_of(kRing, 4, 4), "ring of 4", rounds, figures);
  time_events(topology_of(kRing, 10, 10), "ring of 10", rounds, figures);
  time_events(topology_of(kServer, 10, 10), "10 servers", rounds, figures);
  simulate(topology_of(kRing, 10, 10), "ring of 10, 1,000 parameters", 1000, rounds, kRuns,
           figures);
  simulate(topology_of(kServer, 10, 10), "10 servers, 1,000 parameters", 1000, rounds, kRuns,
           figures);
  simulate(topology_of(kServer, 100, 16), "100 nodes, 16 of them servers", 1000, 30, 3, figures);
  simulate(topology_of(kServer, 1000, 16), "1,000 nodes, 16 of them servers", 1000, 5, 1, figures);
  figures.add("memory of this process at most", "MB", {peak_megabytes()});
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
