// The state of a simulator. Its functions are in simulator.cpp (event heap, faults), transport.cpp
// (links) and work.cpp (the cost of work).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "kimesh/emulation/fluid_links.h"
#include "kimesh/executor/executor.h"
#include "kimesh/sim/simulator.h"
#include "kimesh/util/random.h"

namespace kimesh {

// The numbers of a node's shared capacities.
struct Interface {
  std::uint32_t up = kNoGroup, down = kNoGroup;
};

class Simulator::State {
 public:
  State(SimulationSetup setup, SimulationObserver observer);
  void run();

  SimulationSetup setup;
  SimulationObserver observer;
  const Plan& plan;

  struct MessageArrives {
    LinkIndex link;
    std::uint64_t sequence;
    std::uint32_t epoch;
    double tail_s;
  };
  // What waits for a frozen node to thaw: an event that the core is to get, or a message that has
  // arrived and is not read yet, nor acked.
  using Held = std::variant<Event, MessageArrives>;

  // The simulated driver of one node.
  class Node final : public Driver {
   public:
    Node(State& state, NodeIndex self, const SimulatedNode& options);
    void work(VectorWork work) override;
    void work(TrainerWork work) override;
    void send(SendMessage action) override;
    void send(const SendApplied& action) override;
    void send(const SendBye& action) override;
    void send(const SendHalt& action) override;
    void notify(const RoundReport& report) override;
    void notify(const Decision& decision) override;
    void notify(const Notice& notice) override;
    void finish(const Finish& end) override;

    Vectors vectors;
    Executor executor;
    bool crashed = false, frozen = false;
    std::vector<Held> held;
    SimulatedEnd end;

   private:
    void end_after(double& resource, double seconds, Event event);
    void finish_last_work();

    State& state_;
    const NodeIndex self_;
    double worker_free_ = 0, trainer_free_ = 0;
    std::optional<VectorWork> last_work_;
  };
  // A message of a link, kept until it is acked. Its payload goes to the receiver with the first
  // copy that arrives.
  struct SentMessage {
    Message message;
    std::uint64_t sequence = 0;
    std::size_t bytes = 0;  // on the wire
    std::uint16_t chunks = 0;
    std::uint16_t first = 0;  // that is sent; those before it came on an earlier connection
    double pace_bytes_per_s = 0;
    double begun = 0;  // when the pipe began to carry it
    bool followed = false;
    bool again = false;  // sent more than once
    // The wire bytes of the chunks from `from` to `end`, all of which have one size.
    [[nodiscard]] double bytes_of(unsigned from, unsigned end) const {
      return static_cast<double>(bytes) * (end - from) / chunks;
    }
  };
  // How far the message under way is: what has come when a cut finds it there later.
  struct Reached {
    std::uint64_t sequence = 0;  // 0: none is under way
    std::uint16_t chunks = 0;
  };
  struct LinkState {
    bool up = true;
    std::uint32_t epoch =
        0;  // number of the connection; a cut raises it, and frames of older ones are lost
    std::deque<SentMessage> unacked;
    std::size_t next = 0;  // position in unacked of what is sent next
    bool sending = false;
    std::uint64_t sequence = 0, delivered = 0;
    std::uint16_t held =
        0;  // chunks of the message behind those that the receiver keeps over a cut
    Reached reached;
    double last_ack = 0, last_arrival = 0;  // messages of a link keep their order
    // The receiver's latest answer of each channel, repeated after a cut.
    std::map<std::pair<ShardIndex, Phase>, Applied> applied;
    std::optional<PeerHalted> halt, halt_back;  // repeated after a cut, as these are
    bool bye = false, bye_back = false;
    SimulatedLinkTotals totals;
  };

  // ---- the heap
  struct ToNode {
    NodeIndex node;
    Event event;
  };
  struct AckArrives {
    LinkIndex link;
    std::uint64_t sequence;
    std::uint32_t epoch;
    double tail_s;
  };
  struct ControlFrame {
    LinkIndex link;
    std::uint32_t epoch;
    NodeIndex to;
    Event event;
  };
  struct FlowsChange {};
  struct FaultOccurs {
    Fault fault;
  };
  // As long before a cut as a chunk takes from the pipe's end to the receiver.
  struct NoteReached {
    LinkIndex link;
  };
  struct TickAll {};
  using Occurrence = std::variant<ToNode, MessageArrives, AckArrives, ControlFrame, FlowsChange,
                                  FaultOccurs, NoteReached, TickAll>;
  struct Item {
    double at;
    std::uint64_t order;  // first in, first out at equal times
    Occurrence what;
    bool operator<(const Item& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  void push(double at, Occurrence what);
  void occur(Occurrence what);
  void advance_flows();
  void feed(NodeIndex node, Event event);
  void hand(NodeIndex node, Event event);
  [[nodiscard]] TimePoint time() const { return TimePoint(from_seconds(now)); }

  // ---- transport.cpp
  void send(SendMessage action);
  void begin_next(LinkIndex link, bool behind);
  void flow_ended(const FluidLinks::End& end);
  [[nodiscard]] Random noise(LinkIndex link, std::uint64_t sequence, std::uint32_t draw) const;
  [[nodiscard]] double late_by(LinkIndex link, std::uint64_t sequence) const;
  [[nodiscard]] double read_late_by(LinkIndex link, std::uint64_t sequence) const;
  [[nodiscard]] bool is_split(LinkIndex link, std::uint64_t sequence) const;
  [[nodiscard]] double weight_of(LinkIndex link, std::uint64_t sequence) const;
  void deliver(const MessageArrives& what);
  void read(const MessageArrives& what);
  void acked(const AckArrives& what);
  void send_applied(const SendApplied& action);
  void send_bye(NodeIndex from);
  void send_halt(NodeIndex from, const SendHalt& action);
  void control(LinkIndex link, NodeIndex to, Event event);
  [[nodiscard]] double way_of_a_chunk(LinkIndex link) const;
  [[nodiscard]] Reached reached(LinkIndex link) const;
  void cut(LinkIndex link);
  void restore(LinkIndex link);
  void schedule_flow();
  void occur(const Fault& fault);
  void tick_all();
  void thaw(NodeIndex node);

  std::deque<Node> nodes;  // they do not move
  std::vector<LinkState> links;
  std::vector<Interface> interfaces;  // by node
  FluidLinks fluid;
  double flow_due = 0;     // time of the one FlowsChange in the heap that is valid; infinity: none
  std::vector<Item> heap;  // by std::push_heap: its front can be moved out
  std::uint64_t order = 0, messages = 0;
  double now = 0;
  std::size_t running = 0;
};

}  // namespace kimesh
