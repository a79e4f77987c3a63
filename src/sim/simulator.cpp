#include "kimesh/sim/simulator.h"

#include <algorithm>
#include <limits>

#include "kimesh/util/check.h"
#include "kimesh/util/overloaded.h"
#include "kimesh/wire/frame.h"
#include "state.h"

namespace kimesh {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kEventsBetweenQuestions = 4096;  // how often `interrupted` is asked

double tick_seconds(const SimulationSetup& setup) {
  // Ticks come every quarter of the shortest dead_after, and silence is noticed that much late at
  // most.
  double least = 1;
  for (const SimulatedNode& node : setup.nodes)
    least = std::min(least, to_seconds(node.core.dead_after) / 4);
  return least;
}

// Which shared capacities are a node's own.
std::vector<Interface> number_interfaces(const std::vector<SimulatedNode>& nodes) {
  std::vector<Interface> interfaces;
  std::uint32_t next = 0;
  for (const SimulatedNode& node : nodes) {
    Interface& interface = interfaces.emplace_back();
    if (node.uplink_bits_per_s) interface.up = next++;
    if (node.downlink_bits_per_s) interface.down = next++;
  }
  return interfaces;
}

FluidLinks make_fluid(const SimulationSetup& setup, const std::vector<Interface>& interfaces) {
  std::vector<FluidLinks::Group> capacities;
  for (const SimulatedNode& node : setup.nodes) {
    const double bucket = 8 * static_cast<double>(node.interface_bucket_bytes);
    for (const auto& rate : {node.uplink_bits_per_s, node.downlink_bits_per_s})
      if (rate) capacities.push_back({*rate, bucket});
  }
  std::vector<FluidLinks::Link> fluid_links;
  for (LinkIndex link = 0; link < setup.plan->links.size(); ++link)
    fluid_links.push_back(
        {setup.links[link].rate,
         {interfaces[setup.plan->links[link].from].up, interfaces[setup.plan->links[link].to].down},
         8 * static_cast<double>(setup.links[link].bucket_bytes)});
  return {std::move(fluid_links), capacities, 1.0};  // times in seconds
}

}  // namespace

Simulator::State::State(SimulationSetup the_setup, SimulationObserver the_observer)
    : setup(std::move(the_setup)),
      observer(std::move(the_observer)),
      plan(*setup.plan),
      links(plan.links.size()),
      interfaces(number_interfaces(setup.nodes)),
      fluid(make_fluid(setup, interfaces)),
      flow_due(kInfinity) {
  KIMESH_CHECK(setup.nodes.size() == plan.view.nodes.size(), "one entry a node");
  KIMESH_CHECK(setup.links.size() == plan.links.size(), "one entry a link");
  for (NodeIndex i = 0; i < setup.nodes.size(); ++i) {
    SimulatedNode& options = setup.nodes[i];
    options.core.message_overhead_bytes = message_bytes(0, 0);
    options.core.chunk_overhead_bytes = wire_bytes(0, 1);
    Node& node = nodes.emplace_back(*this, i, options);
    options.objective->initialise(node.vectors.point());
    if (node.vectors.allocated())
      options.objective->bind(node.vectors.bound_point(), node.vectors.gradient());
    node.vectors.start();
  }
  running = nodes.size();
  for (const Fault& fault : setup.faults) {
    push(fault.seconds, FaultOccurs{fault});
    if (fault.kind != Fault::Kind::kCut) continue;
    const double noted = fault.seconds - way_of_a_chunk(fault.link);
    if (noted > 0) push(noted, NoteReached{fault.link});
  }
}

void Simulator::State::push(double at, Occurrence what) {
  heap.push_back({std::max(at, now), order++, std::move(what)});
  std::push_heap(heap.begin(), heap.end());
}

void Simulator::State::feed(NodeIndex index, Event event) {
  if (setup.tamper) {
    std::vector<Event> before;
    setup.tamper(index, event, before);
    for (Event& other : before) hand(index, std::move(other));
  }
  hand(index, std::move(event));
}

void Simulator::State::hand(NodeIndex index, Event event) {
  Node& node = nodes[index];
  if (node.crashed || node.end.finished) return;
  if (node.frozen) return node.held.push_back(std::move(event));
  node.executor.handle(time(), std::move(event));
}

void Simulator::State::occur(Occurrence what) {
  std::visit(
      Overloaded{[&](ToNode& e) { feed(e.node, std::move(e.event)); },
                 [&](MessageArrives& e) { deliver(e); }, [&](AckArrives& e) { acked(e); },
                 [&](ControlFrame& e) {
                   const LinkState& link = links[e.link];
                   if (e.epoch == link.epoch && link.up) feed(e.to, std::move(e.event));
                 },
                 [&](FlowsChange&) { advance_flows(); }, [&](FaultOccurs& e) { occur(e.fault); },
                 [&](const NoteReached& e) { links[e.link].reached = reached(e.link); },
                 [&](TickAll&) { tick_all(); }},
      what);
}

void Simulator::State::advance_flows() {
  if (now != flow_due) return;  // void: an earlier change was scheduled since
  flow_due = kInfinity;
  std::vector<FluidLinks::End> ended;
  fluid.advance(now, ended);
  for (const FluidLinks::End& end : ended) flow_ended(end);
  schedule_flow();
}

void Simulator::State::run() {
  push(0, TickAll{});
  for (Node& node : nodes) node.executor.start(time());
  std::uint64_t events = 0;
  bool told = false;
  while (running > 0 && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Item item = std::move(heap.back());
    heap.pop_back();
    if (item.at > setup.seconds_max) break;
    now = item.at;
    occur(std::move(item.what));
    if (++events % kEventsBetweenQuestions != 0 || told || !setup.interrupted) continue;
    if (!setup.interrupted()) continue;
    told = true;
    for (NodeIndex i = 0; i < nodes.size(); ++i) feed(i, StopNow{"stopped by the user"});
  }
}

// Events that were held were tampered with when they came.
void Simulator::State::thaw(NodeIndex node) {
  nodes[node].frozen = false;
  for (Held& held : std::exchange(nodes[node].held, {}))
    std::visit(Overloaded{[&](Event& event) { hand(node, std::move(event)); },
                          [&](const MessageArrives& message) { read(message); }},
               held);
}

void Simulator::State::tick_all() {
  for (NodeIndex i = 0; i < nodes.size(); ++i) {
    if (nodes[i].end.finished || nodes[i].crashed) continue;
    feed(i, Tick{});
  }
  // Heartbeats travel both ways on a link that is up.
  for (LinkIndex l = 0; l < links.size(); ++l) {
    if (!links[l].up) continue;
    const NodeIndex from = plan.links[l].from, to = plan.links[l].to;
    const auto alive = [&](NodeIndex i) {
      return !nodes[i].crashed && !nodes[i].frozen && !nodes[i].end.finished;
    };
    if (alive(from)) feed(to, PeerHeard{from, l});
    if (alive(to)) feed(from, PeerHeard{to, l});
  }
  push(now + tick_seconds(setup), TickAll{});
}

void Simulator::State::occur(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::kCut:
      return cut(fault.link);
    case Fault::Kind::kRestore:
      return restore(fault.link);
    case Fault::Kind::kStop:
      return feed(fault.node, StopNow{"stopped by the user"});
    case Fault::Kind::kSave:
      return feed(fault.node, SaveNow{});
    case Fault::Kind::kFreeze:
      nodes[fault.node].frozen = true;
      return;
    case Fault::Kind::kCrash:
      if (!nodes[fault.node].crashed && !nodes[fault.node].end.finished) --running;
      nodes[fault.node].crashed = true;
      return;
    case Fault::Kind::kThaw:
      return thaw(fault.node);
    case Fault::Kind::kCapacity:
      for (const std::uint32_t group : {interfaces[fault.node].up, interfaces[fault.node].down})
        if (group != kNoGroup) fluid.set_capacity(now, group, fault.bits_per_s);
      return schedule_flow();
    case Fault::Kind::kCall:
      return fault.call();
  }
}

Simulator::Simulator(SimulationSetup setup, SimulationObserver observer)
    : state_(std::make_unique<State>(std::move(setup), std::move(observer))) {}
Simulator::~Simulator() = default;
void Simulator::run() {
  state_->run();
}
double Simulator::seconds() const {
  return state_->now;
}
const SimulatedEnd& Simulator::end(NodeIndex node) const {
  return state_->nodes[node].end;
}
const Vectors& Simulator::vectors(NodeIndex node) const {
  return state_->nodes[node].vectors;
}
const Core& Simulator::core(NodeIndex node) const {
  return state_->nodes[node].executor.core();
}
SimulatedLinkTotals Simulator::totals(LinkIndex link) const {
  return state_->links[link].totals;
}
std::uint64_t Simulator::messages() const {
  return state_->messages;
}

std::vector<float> Simulator::from_owners(OfShard of_shard) const {
  std::vector<float> whole(state_->plan.layout.size());
  for (ShardIndex s = 0; s < state_->plan.shards.size(); ++s) {
    const Shard& shard = state_->plan.shards[s];
    const auto part = (state_->nodes[shard.owner].vectors.*of_shard)(s);
    std::ranges::copy(part, whole.begin() + static_cast<std::ptrdiff_t>(shard.begin));
  }
  return whole;
}

std::vector<float> Simulator::owners_parameters() const {
  return from_owners(&Vectors::owned);
}

std::vector<float> Simulator::model() const {
  return from_owners(&Vectors::model);
}

}  // namespace kimesh
