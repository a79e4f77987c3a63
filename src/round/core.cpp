#include "kimesh/round/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

Core::State::State(const Plan& the_plan, NodeIndex the_self, CoreOptions the_options,
                   const DecisionSource* the_replay)
    : links(the_plan, the_self, the_options.uplink_bytes_per_s, fills_rounds(the_options)),
      plan(the_plan),
      self(the_self),
      options(the_options),
      replay(the_replay),
      compresses(!the_options.policy.sends_everything()),
      shares_gathers(!compresses || the_options.gather == Gather::kShared),
      policy(make_policy(the_options.policy)),
      searches(!the_replay && the_options.policy.searches() &&
               (!the_options.policy.round_time || the_options.look_ahead == Use::kChosen ||
                the_options.overlap == Use::kChosen || the_options.local_steps_vary)),
      slowest_round(slowest_round_time()),
      shards(the_plan.shards.size()) {
  KIMESH_CHECK(options.one_point || !shares_gathers || !compresses,
               "all copies of a shared shard are equal");
  auto add_in = [&](ChannelIndex channel) {
    in_position[channel] = static_cast<std::uint32_t>(ins.size());
    ins.emplace_back();
    ins.back().channel = channel;
  };
  auto add_out = [&](ChannelIndex channel) {
    out_position[channel] = static_cast<std::uint32_t>(outs.size());
    outs.emplace_back();
    outs.back().channel = channel;
    outs.back().link = plan.channels[channel].link;
    outs.back().estimate = {BufferId::Kind::kEstimate, channel};
  };
  for (ShardIndex s = 0; s < plan.shards.size(); ++s) {
    const NodeChannels& here = plan.node_channels[s][self];
    shards[s].reduce_terms.push_back({BufferId::Kind::kContribution, s});
    shards[s].parameters.push_back({BufferId::Kind::kParameters, s});
    shards[s].gather_terms.push_back(
        {owns(s) ? BufferId::Kind::kOwned : BufferId::Kind::kParameters, s});
    for (ChannelIndex channel : here.reduce_in) {
      add_in(channel);
      shards[s].reduce_terms.push_back({BufferId::Kind::kEstimate, channel});
    }
    if (here.reduce_out) add_out(*here.reduce_out);
    if (here.gather_in) add_in(*here.gather_in);
    for (ChannelIndex channel : here.gather_out) add_out(channel);
    if (keeps_owned_apart(s)) outgoing(lead_of(s)).estimate = shards[s].parameters.front();
  }
  prepare_curves();
  order_reduces();
  if (options.traffic_bytes) traffic_reserve = traffic_reserve_bytes(plan, self, options);
  for (const Link& link : plan.links) {
    if (link.from != self && link.to != self) continue;
    const NodeIndex far = link.from == self ? link.to : link.from;
    const bool known =
        std::any_of(peers.begin(), peers.end(), [&](const Peer& p) { return p.node == far; });
    if (!known) peers.push_back({far, false});
    lives.push_back({static_cast<LinkIndex>(&link - plan.links.data()), far, {}});
  }
  verdict = first_verdict();
}

// What no earlier round can announce: a run of one round begins with its closing round, and a mesh
// that chooses its local steps with several.
Verdict Core::State::first_verdict() const {
  Verdict first;
  if (may_begin_with_steps()) first.local_steps = kFirstSteps;
  if (options.stop_rounds == Round{1}) {
    first.closing_round = 0;
    first.reason = StopReason::kRounds;
  }
  return first;
}

// The curves keep their addresses from here on, since `outs` is complete.
void Core::State::prepare_curves() {
  measures = !replay && policy->wants_curves();
  if (!measures) return;
  for (OutgoingChannel& out : outs) {
    const Channel& channel = plan.channels[out.channel];
    const bool gather = channel.phase == Phase::kGather;
    if (!is_own_choice(out)) continue;
    out.group = 2 * links.number(out.link) + (gather ? 1 : 0);
    if (groups.size() <= out.group) groups.resize(out.group + 1);
    out.place = groups[out.group].curves.size();
    groups[out.group].curves.push_back(&out.curve);
  }
}

// Gradients let several messages begin at once: those with most messages behind them go first.
void Core::State::order_reduces() {
  const auto remaining = [&](ShardIndex s) {
    const NodeChannels& here = plan.node_channels[s][self];
    unsigned most = here.reduce_out ? plan.channels[*here.reduce_out].remaining : 0;
    for (const ChannelIndex c : here.gather_out)
      if (owns(s)) most = std::max(most, plan.channels[c].remaining);
    return most;
  };
  for (ShardIndex s = 0; s < shards.size(); ++s) reduce_order.push_back(s);
  std::ranges::stable_sort(reduce_order, std::greater<>{}, remaining);
}

IncomingChannel& Core::State::incoming(ChannelIndex channel) {
  const auto found = in_position.find(channel);
  KIMESH_CHECK(found != in_position.end(), "an incoming channel of this node");
  return ins[found->second];
}

OutgoingChannel& Core::State::outgoing(ChannelIndex channel) {
  const auto found = out_position.find(channel);
  KIMESH_CHECK(found != out_position.end(), "an outgoing channel of this node");
  return outs[found->second];
}

std::string Core::State::describe(ChannelIndex channel) const {
  const Channel& c = plan.channels[channel];
  const Link& link = plan.links[c.link];
  return fmt::format("link {}->{}, shard {}, {}", name(link.from), name(link.to), c.shard,
                     c.phase == Phase::kReduce ? "reduce" : "gather");
}

void Core::State::start() {
  KIMESH_CHECK(!begun, "a core starts once");
  begun = true;
  started = last_tick = now;
  hear_all();
  checkpoint_called = now;
  agreeing = options.checkpoints.resumes;
  held = options.checkpoints.newest;
  begin_round(0);
}

void Core::State::on(const LinkDown& event) {
  emit(Notice{fmt::format("link {}->{} is down; dialling again", name(plan.links[event.link].from),
                          name(plan.links[event.link].to))});
}

// The message comes from another machine, and is checked before anything relies on it.
void Core::State::on(MessageArrived event) {
  const Message& message = event.message;
  const auto channel = plan.find_channel(event.link, message.shard, message.phase);
  const bool known = channel && in_position.contains(*channel) && is_known(message.form) &&
                     message.payload.size() <= payload_bytes_max(plan, *channel);
  if (!known)
    return fail(fmt::format("node {} sent a message that the plan does not know",
                            name(plan.links[event.link].from)));
  IncomingChannel& in = incoming(*channel);
  if (in.pending) {  // the link hands each message on once, and a sender waits for `applied`
    return fail(
        fmt::format("{}: a second message came before the first was applied", describe(*channel)));
  }
  in.pending = std::move(event.message);
  apply_pending(in);
}

void Core::State::on(const MessageAcked& event) {
  links.acked(event.link, event.sample, now);
}

void Core::State::on(const MessageApplied& event) {
  const Applied& applied = event.applied;
  const auto channel = plan.find_channel(event.link, applied.shard, applied.phase);
  const bool known = channel && out_position.contains(*channel) &&
                     (applied.outcome == ApplyOutcome::kApplied ||
                      applied.outcome == ApplyOutcome::kDigestDiffers);
  if (!known)
    return fail(fmt::format("node {} applied a message that the plan does not know",
                            name(plan.links[event.link].to)));
  OutgoingChannel& out = outgoing(*channel);
  if (!out.busy || out.encoding || applied.round != out.sent.round ||
      applied.generation != out.generation)
    return;  // of an earlier message, or of none
  out.busy = false;
  if (applied.outcome == ApplyOutcome::kDigestDiffers && !replay) {
    emit(Notice{fmt::format("{}, round {}: the two ends differ; the channel starts anew",
                            describe(*channel), applied.round)});
    out.restart = true;
  }
  if (out.waiting) begin_message(out);
  try_finish_round();
  try_end();
}

void Core::State::on(const PeerHeard& event) {
  for (LinkLife& life : lives)
    if (life.link == event.link) life.heard = now;
}

void Core::State::on(const PeerBye& event) {
  for (Peer& peer : peers)
    if (peer.node == event.node) peer.bye = true;
  try_end();
}

void Core::State::on(const PeerHalted& event) {
  halt(event.kind, event.reason);
}

void Core::State::on(const WorkFailed& event) {
  halt(event.is_permanent ? HaltKind::kPermanent : HaltKind::kFailure, event.reason);
}

void Core::State::on(const StopNow& event) {
  halt(HaltKind::kUserStop, event.reason);
}

Core::Core(const Plan& plan, NodeIndex self, CoreOptions options, const DecisionSource* replay)
    : state_(std::make_unique<State>(plan, self, std::move(options), replay)) {}
Core::~Core() = default;
Core::Core(Core&&) noexcept = default;

void Core::start(TimePoint now, std::vector<Action>& actions) {
  state_->now = now;
  state_->actions = &actions;
  if (!state_->finished) state_->start();
}

void Core::handle(TimePoint now, Event event, std::vector<Action>& actions) {
  if (state_->finished) return;
  state_->now = now;
  state_->actions = &actions;
  std::visit(
      [this]<typename E>(E& e) {
        if constexpr (kEndsVectorWork<E>) state_->vector_watch.end(state_->now);
        state_->on(std::move(e));
      },
      event);
}

void Core::catch_up() {
  state_->offer_exchange();
}

bool Core::finished() const {
  return state_->finished;
}
Round Core::round() const {
  return state_->round;
}
std::uint64_t Core::lineage() const {
  return state_->lineage;
}
std::string Core::waiting_for() const {
  return state_->waiting_for();
}
CoreWait Core::wait() const {
  const WaitWatch& watch = state_->wait_watch;
  return {watch.what(), watch.waited(state_->now), watch.longest_lately(), state_->wait_limit()};
}
LinkEstimate Core::estimate(LinkIndex link) const {
  return state_->links.estimate(link);
}

std::uint64_t traffic_reserve_bytes(const Plan& plan, NodeIndex self, const CoreOptions& options) {
  // The node sends every message of four rounds, each dense at most: the round in which it asks for
  // the end, the one in which the mesh learns of it, the closing round, and the round before, whose
  // gathers may not be counted yet when the node asks.
  constexpr std::uint64_t kRounds = 4;
  std::uint64_t round = 0;
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c) {
    if (plan.link_of(c).from != self) continue;
    const std::size_t bytes =
        payload_bytes_max(plan, c) + options.message_overhead_bytes + kOptionalBytesMax;
    round += bytes + options.chunk_overhead_bytes * chunk_count(bytes);
  }
  return kRounds * round;
}

std::size_t payload_bytes_max(const Plan& plan, ChannelIndex channel) {
  return 4 * plan.elements(channel);
}

}  // namespace kimesh
