#include "engine.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/overloaded.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);  // also: how soon Ctrl-C is seen
constexpr Duration kSayAgain = std::chrono::seconds(5);     // between sentences of one who waits
constexpr Duration kHeartbeatMax = std::chrono::seconds(1);
constexpr Duration kTellHealth = std::chrono::seconds(1);
// An engine that has not looked at its clock for so long hangs: it waits for a tick at most.
constexpr Duration kEngineHangs = std::chrono::minutes(1);

// The run's number. Nobody gives it: it follows from what all nodes of a run have in common when
// they begin. Processes of an earlier attempt are told by their incarnations.
std::uint64_t run_of(const Hello& hello) {
  return digest_text(fmt::format("{:016x} {:016x} {:016x}", hello.topology_digest,
                                 hello.config_digest, hello.parameters_digest));
}

// What nodes must agree on of their parameters before the first round: which they are, and, where
// none of them brings its own, their bits.
std::uint64_t digest_of(const Layout& layout, FirstPoint first_point,
                        std::span<const float> point) {
  std::string text;
  for (const LayoutLayer& layer : layout.layers)
    text += fmt::format("{} [{}]\n", layer.name, fmt::join(layer.shape, ", "));
  const bool alike = first_point == FirstPoint::kAlike;
  return digest_text(text + (alike ? digest_name(digest_floats(point)) : "of the first node"));
}

// The largest message that comes on a link.
std::size_t largest_message(const Plan& plan, LinkIndex link, FirstPoint first_point) {
  std::size_t payload = first_point == FirstPoint::kOfFirstNode ? kPieceFloats * sizeof(float) : 0;
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c)
    if (plan.channels[c].link == link) payload = std::max(payload, payload_bytes_max(plan, c));
  return payload + kBesidePayloadBytesMax;
}

NetworkOptions network_options(const LiveNodeSetup& setup, std::uint64_t parameters_digest) {
  const Plan& plan = *setup.plan;
  const TopologyFile& topology = *setup.topology;
  NetworkOptions options;
  options.self = setup.self;
  options.listen = topology.nodes[setup.self].address;
  options.hello.from = plan.view.nodes[setup.self];
  options.hello.build = setup.version;
  options.hello.incarnation = new_incarnation();
  options.hello.topology_digest = digest_text(topology.canonical());
  options.hello.config_digest = setup.config_digest;
  options.hello.parameters_digest = parameters_digest;
  options.hello.run = run_of(options.hello);
  options.curve = setup.curve;
  options.uplink_bits_per_s = topology.nodes[setup.self].sending_cap_bits_per_s();
  options.heartbeat = std::min(kHeartbeatMax, topology.dead_after / 4);
  options.dead_after = topology.dead_after;
  options.dials_again = setup.rejoins;
  for (LinkIndex l = 0; l < plan.links.size(); ++l) {
    const Link& link = plan.links[l];
    const bool far_dials = (topology.dialled_by(link.from, link.to) == DialledBy::kReceiver) ==
                           (link.from == setup.self);
    const std::string endpoint = far_dials ? "" : topology.dial_address(link.from, link.to);
    if (link.from == setup.self)
      options.outgoing.push_back({l, link.to, plan.view.nodes[link.to], endpoint,
                                  topology.link(link.from, link.to), far_dials});
    else if (link.to == setup.self)
      options.incoming.push_back({l, link.from, plan.view.nodes[link.from],
                                  largest_message(plan, l, setup.first_point), !endpoint.empty(),
                                  endpoint});
  }
  return options;
}

CoreOptions core_options(const LiveNodeSetup& setup) {
  CoreOptions options = setup.core;
  options.message_overhead_bytes = message_bytes(0, 0);
  options.chunk_overhead_bytes = wire_bytes(0, 1);
  options.dead_after = setup.topology->dead_after;
  return options;
}

VectorsOptions vectors_options(const LiveNodeSetup& setup) {
  VectorsOptions options = setup.vectors;
  const ObjectiveMemory memory = setup.objective->memory();
  options.point_floats = memory.parameters;
  options.gradient_floats = memory.gradient;
  options.objective_on_device = setup.objective->computes_on_gpu();
  return options;
}

}  // namespace

std::size_t weight_of(const EngineInput& input) {
  const auto payload_of = [](const auto& event) -> std::size_t {
    if constexpr (requires { event.payload; }) return event.payload.size();
    return 0;
  };
  return std::visit(Overloaded{[](const NetworkEvent& event) { return event_weight(event); },
                               [&](const Event& event) {
                                 return sizeof(EngineInput) + std::visit(payload_of, event);
                               }},
                    input);
}

Engine::Engine(const LiveNodeSetup& setup, const LiveNodeObserver& observer)
    : setup_(setup),
      observer_(observer),
      plan_(*setup.plan),
      vectors_(plan_, setup.self, vectors_options(setup)),
      executor_(Core(plan_, setup.self, core_options(setup)), *this),
      engine_(kEngineQueueBytes),
      thrown_(setup.thrown != nullptr ? *setup.thrown : own_thrown_) {
  setup_.objective->initialise(vectors_.point());
  if (!vectors_.allocated()) return;  // open() says so
  setup_.objective->bind(vectors_.bound_point(), vectors_.gradient());
  setup_.objective->lend([this](std::span<float> w) { return vectors_.read_parameters(w); });
  if (setup_.first_point == FirstPoint::kOfFirstNode)
    first_point_.emplace(plan_, setup_.self, vectors_.point());
  else
    vectors_.start();
}

TimePoint Engine::now() const {
  return std::chrono::steady_clock::now();
}

Status Engine::open() {
  if (const Status there = vectors_.allocated(); !there) return there;
  NetworkOptions options =
      network_options(setup_, digest_of(plan_.layout, setup_.first_point, vectors_.point()));
  options.thrown = &thrown_;
  for (const OutgoingLink& link : options.outgoing) waiting_out_.insert(link.link);
  for (const IncomingLink& link : options.incoming) waiting_in_.insert(link.from);
  auto network = Network::start(std::move(options), [this](NetworkEvent& event) {
    EngineInput input(std::in_place_type<NetworkEvent>, std::move(event));
    const std::size_t weight = weight_of(input);
    if (engine_.try_push(std::move(input), weight)) return true;
    event = std::move(std::get<NetworkEvent>(input));  // no room: nothing was moved
    return engine_.closed();
  });
  if (!network) return network.error();
  network_ = std::move(*network);
  return ok_status();
}

LiveNodeEnd Engine::run() {
  const bool sound = thrown_.guard("running the node", [&] {
    wait_for_mesh();
    if (!ended_ && first_point_) wait_for_first_point();
    if (!ended_) loop();
  });
  // Another thread may be about to keep what it has thrown.
  while (!sound && !ended_ && !end_by_thrown()) std::this_thread::yield();
  close();
  return std::move(end_);
}

std::set<NodeIndex> Engine::missing() const {
  std::set<NodeIndex> missing(waiting_in_.begin(), waiting_in_.end());
  for (LinkIndex link : waiting_out_) missing.insert(plan_.links[link].to);
  return missing;
}

std::string Engine::missing_peers() const {
  std::string text;
  for (NodeIndex node : missing())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name(node), way_to(node));
  return text;
}

// Where this node dials another one, or else where that one is.
std::string Engine::way_to(NodeIndex node) const {
  for (const Link& link : plan_.links) {
    const bool there = link.from == setup_.self && link.to == node;
    const bool back = link.from == node && link.to == setup_.self;
    const DialledBy who = there ? DialledBy::kSender : DialledBy::kReceiver;
    if ((there || back) && setup_.topology->dialled_by(link.from, link.to) == who)
      return setup_.topology->dial_address(link.from, link.to);
  }
  return setup_.topology->nodes[node].dial_address();
}

NodeIndex Engine::far_node_of(LinkIndex link) const {
  const Link& whole = plan_.links[link];
  return whole.from == setup_.self ? whole.to : whole.from;
}

// Why missing nodes, or who said so, were refused, or refused this one.
std::string Engine::refusals() const {
  std::string text;
  for (const NodeIndex node : missing())
    if (const auto refusal = refusals_.find(node); refusal != refusals_.end())
      text += "; " + refusal->second;
  return text;
}

void Engine::notify_missing_peers(Duration waited) {
  notify(Notice{fmt::format("waiting for {}: {:.0f} s of {:.0f} s", missing_peers(),
                            to_seconds(waited), to_seconds(setup_.topology->start_timeout))});
}

void Engine::wait_for_mesh() {
  const TimePoint begun = now();
  Duration said{0};
  while (!ended_ && !(waiting_out_.empty() && waiting_in_.empty())) {
    const Duration waited = now() - begun;
    tell_health_of_wait(begun + setup_.topology->start_timeout, "waiting for other nodes to start");
    if (end_before_start()) return;
    if (stop_wanted())
      return abort("stopped by the user before the mesh was complete" + refusals());
    if (waited >= setup_.topology->start_timeout)
      return abort(
          fmt::format("gave up waiting for {} after {:.0f} s: start it, or check its address{}",
                      missing_peers(), to_seconds(waited), refusals()));
    if (waited - said >= kSayAgain) {
      said = waited;
      notify_missing_peers(waited);
    }
    if (auto input = engine_.pop_for(kTick)) dispatch(std::move(*input));
  }
}

// All nodes have the first node's parameters before any of them begins its first round.
void Engine::wait_for_first_point() {
  first_point_->begin([this](SendMessage piece) { network_->send(std::move(piece)); });
  TimePoint last = now(), said = last;  // the last progress
  std::uint64_t progress = first_point_->progress();
  while (!ended_ && !first_point_->done()) {
    if (end_before_start()) return;
    if (stop_wanted()) return abort("stopped by the user before the first round");
    const TimePoint at = now();
    tell_health_of_wait(last + setup_.topology->start_timeout, "waiting for the first parameters");
    if (first_point_->progress() != progress) {
      progress = first_point_->progress();
      last = at;
    }
    if (at - last >= setup_.topology->start_timeout)
      return abort(fmt::format("gave up waiting for {} after {:.0f} s without progress",
                               first_point_->waiting_for(), to_seconds(at - last)));
    if (at - said >= kSayAgain) {
      said = at;
      notify(Notice{fmt::format("waiting for {}", first_point_->waiting_for())});
    }
    if (auto input = engine_.pop_for(kTick)) dispatch(std::move(*input));
  }
  first_point_.reset();
  vectors_.start();
}

void Engine::loop() {
  started_ = true;
  end_.started = !setup_.core.checkpoints.resumes;
  // At most one action per channel and shard, and one movement, are under way.
  const std::size_t most = plan_.channels.size() + plan_.shards.size() + 2;
  worker_ = std::make_unique<VectorWorker>(vectors_, setup_.states, engine_, thrown_, most);
  trainer_ = std::make_unique<TrainerThread>(*setup_.objective, vectors_, engine_, thrown_,
                                             name(setup_.self));
  begun_ = now();
  held_ = setup_.core.checkpoints.newest;
  network_->start_emulation(begun_);
  executor_.start(begun_);
  TimePoint next_tick = begun_ + kTick;
  while (!ended_) {
    const TimePoint at = now();
    if (at >= next_tick) {
      next_tick = at + kTick;
      if (end_by_thrown()) return;
      feed(Tick{});
      const CoreWait wait = executor_.core().wait();
      notify_wait(wait);
      tell_health_of_wait(at - wait.waited + wait.limit, "waiting for " + wait.what);
      look_at_states();
      if (stop_wanted()) feed(StopNow{"stopped by the user at node " + name(setup_.self)});
      continue;
    }
    if (auto input = engine_.pop_for(next_tick - at)) dispatch(std::move(*input));
  }
}

// Says what the node waits for, where that takes unusually long.
void Engine::notify_wait(const CoreWait& wait) {
  if (wait.waited < said_wait_) said_wait_ = Duration(0);  // for something else
  if (ended_ || wait.waited - said_wait_ < kSayAgain || !wait.is_unusual()) return;
  said_wait_ = wait.waited;
  notify(Notice{fmt::format("waiting for {}: {:.0f} s", wait.what, to_seconds(wait.waited))});
}

void Engine::tell_health(TimePoint limit, const std::string& what) {
  const TimePoint at = now();
  if (!observer_.health || at - health_told_ < kTellHealth) return;
  health_told_ = at;
  observer_.health(limit + kTimeToLeave, what);
}

// Until `limit`, and for as long as the engine says so: what hangs beside it, it ends itself.
void Engine::tell_health_of_wait(TimePoint limit, const std::string& what) {
  tell_health(std::min(limit, now() + kEngineHangs), what);
}

void Engine::dispatch(EngineInput input) {
  std::visit(Overloaded{[&](NetworkEvent& event) { handle(std::move(event)); },
                        [&](Event& event) { feed(std::move(event)); }},
             input);
}

LinkCounterList Engine::counters() const {
  LinkCounterList list;
  for (LinkIndex l = 0; l < plan_.links.size(); ++l)
    if (plan_.links[l].from == setup_.self) list.emplace_back(l, network_->counters(l));
  return list;
}

// What was written beside training, and whether somebody asks for a checkpoint now.
void Engine::look_at_states() {
  if (setup_.save && setup_.save->exchange(false)) feed(SaveNow{});
  if (!setup_.states) return;
  const auto newest = setup_.states->newest();
  if (!newest) return check(newest.error());
  if (!*newest) return held_.reset();  // set aside
  if (*newest == held_) return;
  held_ = *newest;
  feed(StateHeld{*held_});
}

void Engine::feed(Event event) {
  if (!ended_) executor_.handle(now(), std::move(event));
}

}  // namespace kimesh
