// The inside of the simulator: simulator.cpp (event heap), transport.cpp (links), work.cpp (actions
// of the cores).
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <variant>

#include "kimesh/emulation/fluid_links.h"
#include "kimesh/sim/simulator.h"

namespace kimesh {

class Simulator::State {
 public:
  State(SimulationSetup setup, SimulationObserver observer);
  void run();

  SimulationSetup setup;
  SimulationObserver observer;
  const Plan& plan;

  struct Node {
    Core core;
    Vectors vectors;
    bool crashed = false, frozen = false;
    double worker_free = 0, trainer_free = 0;
    std::vector<Event> held;  // while frozen
    SimulatedEnd end;
  };
  // A message on its way; kept until it is acked.
  struct Carried {
    Message message;
    PayloadId payload = kNoPayload;
    std::uint64_t sequence = 0;
    std::size_t bytes = 0;  // on the wire
    std::uint16_t chunks = 0;
    double begun = 0;  // when the pipe began to carry it
    bool followed = false;
    bool again = false;  // sent more than once
  };
  struct LinkState {
    bool up = true;
    std::uint32_t epoch =
        0;  // of the connection; a cut raises it, what belongs to an older one is lost
    std::deque<Carried> unacked;
    std::size_t next = 0;  // position in unacked of what is sent next
    bool sending = false;
    std::uint64_t sequence = 0, delivered = 0;
    double last_ack = 0;
    std::map<ChannelIndex, MessageApplied>
        said_applied;  // the receiver's last words, said again after a cut
    bool bye = false, bye_back = false;
    SimulatedLinkTotals totals;
  };

  // ---- the heap
  struct ToNode {
    NodeIndex node;
    Event event;
  };
  struct Deliver {
    LinkIndex link;
    std::uint64_t sequence;
    std::uint32_t epoch;
    double tail_s;
  };
  struct Receipt {
    LinkIndex link;
    std::uint64_t sequence;
    std::uint32_t epoch;
    double tail_s;
  };
  struct Control {
    LinkIndex link;
    std::uint32_t epoch;
    NodeIndex to;
    Event event;
  };
  struct Flowing {};
  struct Strike {
    Fault fault;
  };
  struct TickAll {};
  using What = std::variant<ToNode, Deliver, Receipt, Control, Flowing, Strike, TickAll>;
  struct Item {
    double at;
    std::uint64_t order;  // first in, first out at equal times
    What what;
    bool operator<(const Item& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  void push(double at, What what);
  void carry_out(const What& what);
  void feed(NodeIndex node, const Event& event);
  [[nodiscard]] TimePoint time() const { return TimePoint(from_seconds(now)); }

  // ---- transport.cpp
  void send(const Message& message, PayloadId payload);
  void begin_next(LinkIndex link);
  void flow_ended(const FluidLinks::End& end);
  void deliver(const Deliver& what);
  void receipt(const Receipt& what);
  void send_applied(const SendApplied& action);
  void to_peers(NodeIndex from, const Event& event, bool is_bye);
  void control(LinkIndex link, NodeIndex to, const Event& event);
  void cut(LinkIndex link);
  void restore(LinkIndex link);
  void schedule_flow();
  void strike(const Fault& fault);
  void tick_all();

  // ---- work.cpp
  void act(NodeIndex node, Action& action);
  void act(NodeIndex node, ComputeGradient& action);
  void act(NodeIndex node, Evaluate& action);
  void act(NodeIndex node, AdvanceChannel& action);
  void act(NodeIndex node, ApplyMessage& action);
  void act(NodeIndex node, StepShard& action);
  double pay(double& resource, double seconds);
  void trainer_failed(NodeIndex index, double end, const Error& error);

  std::vector<Node> nodes;
  std::vector<LinkState> links;
  FluidLinks fluid;
  double flow_due = 0;  // of the one Flowing in the heap that counts; infinity: none
  std::unordered_map<PayloadId, std::vector<std::byte>> payloads;
  PayloadId next_payload = 1;
  std::vector<Item> heap;  // by std::push_heap: its front can be moved out
  std::uint64_t order = 0, messages = 0;
  double now = 0;
  std::size_t running = 0;
};

}  // namespace kimesh
