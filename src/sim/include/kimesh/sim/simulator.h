// The simulated driver: it runs the cores, vectors, codecs and policies of a whole mesh in one
// process, on a virtual clock. Links have rates, traces, delay and cuts, and share uplinks and
// downlinks; nodes crash or freeze. The same setup repeats a failure. The two ends of a
// channel are separate memory: every byte goes through an encoded payload.
//
// In virtual time, gradients, encoding, applying and steps take the times of SimulatedCosts. A node
// computes one gradient and one piece of vector work at a time. Work is carried out when it is
// issued; its end is reported when its time has passed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kimesh/emulation/link_spec.h"
#include "kimesh/executor/executor.h"
#include "kimesh/objective/objective.h"
#include "kimesh/round/core.h"
#include "kimesh/topology/plan.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// The virtual time that work takes. The defaults are those of one core of an AMD EPYC, Zen 5 (a
// fused pass at about 5 GB/s).
struct SimulatedCosts {
  Duration gradient{std::chrono::milliseconds(10)};
  // Of each node, all its local steps together, in place of `gradient`; empty: all are alike.
  std::vector<Duration> node_gradients{};
  Duration evaluate{std::chrono::milliseconds(5)};
  double encode_s_per_element = 1e-9;
  double apply_s_per_element = 3e-10;
  double step_s_per_element = 3e-10;
  // The time of dzq's entropy coder beside the passes over the vector: it meets a budget in three
  // or four tries. 85 to 135 ns a byte were measured on messages of 3 to 115 kB (Zen 4).
  double encode_s_per_coded_byte = 1.2e-7, decode_s_per_coded_byte = 3e-8;
  Duration work{
      std::chrono::microseconds(20)};  // of each action besides: queues and thread switches
  Duration hop{std::chrono::microseconds(
      150)};  // of each message besides the wire: sockets and wake-ups at both ends
  // A busy machine: with this chance a message is late by a time up to `hiccup`.
  double hiccup_chance = 0;
  Duration hiccup{0};
  // Processes that wait for a core: with this chance a message is read, all of it at once, and
  // acked, late by a time up to `wait`.
  double wait_chance = 0;
  Duration wait{0};
  // Of these messages, the share whose first half was read before the wait.
  double split_share = 0;
  // Flows that share an interface get unlike parts of it, as those of TCP do: the logarithm of a
  // message's weight has this standard deviation.
  double unfairness = 0;
  // The seed of the draws behind these chances and weights. Its lower 32 bits count.
  std::uint64_t seed = 0;
};

struct Fault {
  enum class Kind {
    kCut,  // the link's connection breaks: what is under way is lost, and after kRestore the
           // sender goes on with the chunk behind the last one that has come
    kRestore,
    kCrash,   // the node does nothing any more
    kFreeze,  // as kCrash, until kThaw: what has come until then is read, and acked, at that moment
    kThaw,
    kStop,      // Ctrl-C at the node
    kSave,      // its user asks for a checkpoint
    kCapacity,  // the node's interface has `bits_per_s` from now on, each way
    kCall,      // `call` runs between two events: who gives it may look at nodes, or damage them
  };
  Kind kind;
  double seconds = 0;  // virtual
  LinkIndex link = 0;
  NodeIndex node = 0;
  std::function<void()> call{};
  double bits_per_s = 0;
};

struct SimulatedNode {
  std::unique_ptr<Objective> objective;
  CoreOptions core;  // message_overhead_bytes is set by the simulator
  VectorsOptions vectors;
  std::optional<double> uplink_bits_per_s, downlink_bits_per_s;
  std::size_t interface_bucket_bytes = 0;  // of both, a token bucket each
  // Where its checkpoints go, and come from; outlives the simulator. Null: nowhere. A state counts
  // as held once the time of its copy has passed.
  StateStore* states = nullptr;
};

// Called in virtual-time order; may be empty.
struct SimulationObserver {
  std::function<void(NodeIndex, TimePoint, const RoundReport&)> report;
  std::function<void(NodeIndex, TimePoint, const Decision&)> decision;
  std::function<void(NodeIndex, TimePoint, const std::string&)> notice;
  // Called after each applied message, which both ends hold then; for tests of invariant 1.
  std::function<void(ChannelIndex, Round)> applied;
};

struct SimulationSetup {
  const Plan* plan = nullptr;  // outlives the simulator
  std::vector<SimulatedNode> nodes;
  std::vector<LinkSpec> links;  // by LinkIndex
  SimulatedCosts costs;
  std::vector<Fault> faults;
  const DecisionSource* replay = nullptr;
  double seconds_max = 1e9;           // virtual; the run is given up after it
  std::function<bool()> interrupted;  // asked now and then; true: every node stops
  // Peers gone wrong: changes an event before the core of `to` has it, and appends others that it
  // gets first. May be empty.
  std::function<void(NodeIndex to, Event& event, std::vector<Event>& before)> tamper;
};

struct SimulatedEnd {
  Outcome outcome = Outcome::kFailed;
  StopReason reason = StopReason::kNone;
  std::string text;
  bool finished = false;  // false: crashed, or given up
};

struct SimulatedLinkTotals {
  std::uint64_t messages = 0;  // delivered for the first time
  std::uint64_t bytes = 0;     // wire bytes of those
};

class Simulator {
 public:
  // Initialises and starts all nodes at virtual time 0.
  Simulator(SimulationSetup setup, SimulationObserver observer);
  ~Simulator();

  // Runs until every node has finished or crashed, or time is up.
  void run();

  [[nodiscard]] double seconds() const;  // virtual time of the last event
  [[nodiscard]] const SimulatedEnd& end(NodeIndex node) const;
  [[nodiscard]] const Vectors& vectors(NodeIndex node) const;
  [[nodiscard]] const Core& core(NodeIndex node) const;
  [[nodiscard]] SimulatedLinkTotals totals(LinkIndex link) const;
  [[nodiscard]] std::uint64_t messages() const;  // delivered in all
  // The parameters x, every shard from its owner. Shape [d].
  [[nodiscard]] std::vector<float> owners_parameters() const;
  // The model: what owners save of every shard. Shape [d].
  [[nodiscard]] std::vector<float> model() const;

 private:
  class State;
  using OfShard = std::span<const float> (Vectors::*)(ShardIndex) const;
  [[nodiscard]] std::vector<float> from_owners(OfShard of_shard) const;
  std::unique_ptr<State> state_;
};

}  // namespace kimesh
