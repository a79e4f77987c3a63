// Shards and channels: what a round's messages wait for, and what follows from them.
#include <algorithm>
#include <utility>

#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

void Core::State::begin_round(Round next) {
  round = next;
  confirming = verdict.closing_round != kNoRound && next == verdict.closing_round + 1;
  own_ready = false;
  shards_current = 0;
  own = {};
  own.nodes = 1;
  report = {};
  report.round = round;
  report.confirmation = confirming;
  report.begun = now;
  own.stop_wish = stop_wish();
  if (!confirming) ++trained;

  const bool evaluate =
      options.has_test_set && (confirming || (options.evaluate_every > 0 && round > 0 &&
                                              round % options.evaluate_every == 0));
  computing = evaluate || !confirming;
  if (evaluate) {
    emit(Evaluate{round});
  } else if (!confirming) {
    emit(ComputeGradient{round});
  } else {
    own_ready = true;
  }
  for (IncomingChannel& in : ins) apply_pending(in);
  if (own_ready) try_reduce(0);
}

double Core::State::stop_wish() const {
  if (options.traffic_bytes && traffic + traffic_reserve > *options.traffic_bytes)
    return kTrafficIsSpent;
  return options.stop_time && run_clock() >= *options.stop_time ? kTimeIsOver : 0;
}

// Issues the reduce work of a shard once the own gradient and all children's messages are there.
void Core::State::try_reduce(ShardIndex s) {
  if (finished || !own_ready || shards[s].reduced == round || (confirming && s != 0)) return;
  const NodeChannels& here = plan.node_channels[s][self];
  for (ChannelIndex channel : here.reduce_in)
    if (incoming(channel).applied != round) return;
  shards[s].reduced = round;
  if (s == 0) {
    sum = own;
    for (ChannelIndex channel : here.reduce_in)
      sum.merge(ControlVector::from_control(incoming(channel).control));
  }
  if (!owns(s)) return send_when_free(outgoing(*here.reduce_out));
  if (s == 0) verdict = decide_verdict(sum);
  if (confirming) return shard_is_current(s);
  shards[s].asked = now;
  emit(StepShard{s, round, shards[s].reduce_terms, options.digest_shards});
}

// Sends the channel's message of this round, once the far side has applied the one before.
void Core::State::send_when_free(OutgoingChannel& out) {
  if (out.waiting)  // a far side that goes on without our message does not keep to the protocol
    return fail(describe(out.channel) + ": two messages are due at once");
  out.due = {round, confirming, round == verdict.closing_round};
  out.waiting = true;
  if (!out.busy) begin_message(out);
}

void Core::State::begin_message(OutgoingChannel& out) {
  out.waiting = false;
  out.busy = true;
  out.sent = out.due;
  if (out.sent.confirmation) {
    send_confirmation(out);
  } else {
    advance(out);
  }
}

Message Core::State::message_for(const OutgoingChannel& out) const {
  const Channel& channel = plan.channels[out.channel];
  Message message;
  message.round = out.sent.round;
  message.generation = out.generation;
  message.shard = channel.shard;
  message.phase = channel.phase;
  message.control = control_for(channel);
  return message;
}

void Core::State::send_confirmation(OutgoingChannel& out) {
  traffic += overhead(plan.channels[out.channel]) + options.chunk_overhead_bytes;
  emit(SendMessage{out.link, message_for(out)});
}

void Core::State::advance(OutgoingChannel& out) {
  const Channel& channel = plan.channels[out.channel];
  const Round of = out.sent.round;
  if (replay) out.restart = replay->reset(out.channel, of);
  if (out.restart) {
    ++out.generation;
    emit(Decided{{Decision::Kind::kReset, of, out.channel, {}, {}}});
  }
  const std::optional<Setting> setting = choose(out);
  if (!setting) return fail(describe(out.channel) + ": the decision log ends before this round");
  emit(Decided{{Decision::Kind::kSetting, of, out.channel, *setting, {}}});
  const ShardState& shard = shards[channel.shard];
  const bool reduce = channel.phase == Phase::kReduce;
  const Feedback feedback = reduce ? options.feedback : Feedback::kEf21;
  out.asked = now;
  emit(AdvanceChannel{out.channel, of, reduce ? shard.reduce_terms : shard.gather_terms,
                      out.estimate, *setting, out.restart || feedback == Feedback::kNone,
                      digest_is_due(of) && feedback != Feedback::kEf14, feedback, measures});
}

// The setting of the channel's next message; nothing: the replayed log has none.
std::optional<Setting> Core::State::choose(OutgoingChannel& out) {
  if (replay) return replay->setting(out.channel, out.sent.round);
  const bool gather = plan.channels[out.channel].phase == Phase::kGather;
  MessageContext context = links.context(out.link);
  context.elements = plan.elements(out.channel);
  // A policy that divides the bytes of a link among its messages counts with equal parts.
  context.slots = measures ? plan.slots : plan.channels[out.channel].slots;
  context.hops = plan.hops;
  context.overhead_bytes = overhead(plan.channels[out.channel]);
  context.chunk_overhead_bytes = options.chunk_overhead_bytes;
  context.round = out.sent.round;
  if (measures) {
    Group& group = groups[out.group];
    if (group.round != out.sent.round) group = {std::move(group.curves), out.sent.round, 0, 0};
    context.curves = group.curves;
    context.own = out.place;
    context.phase_spent_bytes = group.spent;
    context.phase_messages_sent = group.sent;
  }
  context.compute_time = from_seconds(verdict.compute_s);
  context.work_time = work_times.of_round(plan.hops);
  context.encode_s_per_byte = out.encode_per_byte.value();
  check_round_time(context);
  // A gather is dense, whatever the budget, in the closing round, which makes the models equal, and
  // where it begins a new generation.
  if (gather && (out.sent.closing || out.restart)) return Setting{};
  const Choice choice = policy->choose(context);
  links.add_budget(out.link, choice.budget_bytes);
  if (measures) {
    groups[out.group].spent += choice.budget_bytes;
    ++groups[out.group].sent;
  }
  return choice.setting;
}

bool Core::State::digest_is_due(Round of) const {
  return options.digest_every > 0 && (of + 1) % options.digest_every == 0;
}

std::size_t Core::State::overhead(const Channel& channel) const {
  return options.message_overhead_bytes + controls_to_send(control_for(channel)) * sizeof(double);
}

Control Core::State::control_for(const Channel& channel) const {
  if (channel.shard != 0) return {};
  return channel.phase == Phase::kReduce ? sum.to_control() : verdict.to_control();
}

void Core::State::on(AdvanceDone event) {
  OutgoingChannel& out = outgoing(event.channel);
  KIMESH_CHECK(out.busy && out.sent.round == event.round, "the advance that was asked for");
  Message message = message_for(out);
  message.restart = std::exchange(out.restart, false);
  message.form = event.form;
  message.digest = event.digest;
  report.encode += event.took;
  const std::size_t content = event.payload.size() + overhead(plan.channels[event.channel]);
  const std::size_t bytes = content + options.chunk_overhead_bytes * chunk_count(content);
  traffic += bytes;
  out.encode_per_byte.add(to_seconds(now - out.asked) / static_cast<double>(bytes));
  links.add_message(event, out.link, plan.elements(event.channel), bytes);
  if (measures) observe(event, out);
  message.payload = std::move(event.payload);
  emit(SendMessage{out.link, std::move(message)});
}

// A reduce message may come one round early, from a child that has received its gathers before this
// node. Its estimate is free then, since this round's reduce work has been issued. While a gradient
// is computed the parameters are read only.
bool Core::State::may_apply(const IncomingChannel& in, Round message_round) const {
  if (!begun) return false;
  const Channel& channel = plan.channels[in.channel];
  if (channel.phase == Phase::kGather) return message_round == round && !computing;
  return message_round == round ||
         (message_round == round + 1 && (confirming || shards[channel.shard].reduced == round));
}

void Core::State::apply_pending(IncomingChannel& in) {
  if (finished || !in.pending || in.applying) return;
  Message& message = *in.pending;
  if (message.round > round + 1 || (begun && message.round < round) ||
      message.generation < in.generation)
    return fail(describe(in.channel) + ": a message of a round or generation that cannot be");
  if (!may_apply(in, message.round)) return;
  in.generation = message.generation;
  if (message.form == Form::kEmpty) return applied(in, ApplyOutcome::kApplied);
  in.applying = true;
  in.asked = now;
  const Channel& channel = plan.channels[in.channel];
  const BufferId target = channel.phase == Phase::kReduce
                              ? BufferId{BufferId::Kind::kEstimate, in.channel}
                              : BufferId{BufferId::Kind::kParameters, channel.shard};
  // Without EF21 the receiver of a reduce keeps nothing of earlier messages.
  const bool restart =
      message.restart || (channel.phase == Phase::kReduce && options.feedback != Feedback::kEf21);
  emit(ApplyMessage{in.channel, message.round, target, message.form, restart, message.digest != 0,
                    std::move(message.payload)});
}

void Core::State::on(const ApplyDone& event) {
  IncomingChannel& in = incoming(event.channel);
  KIMESH_CHECK(in.applying && in.pending, "the application that was asked for");
  in.applying = false;
  report.apply += event.took;
  work_times.applied(now - in.asked);
  const std::uint64_t wanted = in.pending->digest;
  const bool same = wanted == 0 || wanted == event.digest;
  applied(in, same ? ApplyOutcome::kApplied : ApplyOutcome::kDigestDiffers);
}

void Core::State::applied(IncomingChannel& in, ApplyOutcome outcome) {
  const Channel& channel = plan.channels[in.channel];
  in.applied = in.pending->round;
  in.control = in.pending->control;
  in.pending.reset();
  emit(SendApplied{channel.link,
                   {in.applied, in.generation, channel.shard, channel.phase, outcome}});
  if (channel.phase == Phase::kReduce) return try_reduce(channel.shard);
  if (channel.shard == 0) verdict = Verdict::from_control(in.control);
  shard_is_current(channel.shard);
}

void Core::State::on(const StepDone& event) {
  report.step += event.took;
  work_times.stepped(now - shards[event.shard].asked);
  if (event.digest != 0) report.digests.emplace_back(event.shard, event.digest);
  shard_is_current(event.shard);
}

// Called when the parameters of a shard are those of this round: sends them on, and ends the round
// after the last shard.
void Core::State::shard_is_current(ShardIndex s) {
  KIMESH_CHECK(shards[s].current != round, "a shard becomes current once a round");
  shards[s].current = round;
  ++shards_current;
  for (ChannelIndex channel : plan.node_channels[s][self].gather_out)
    send_when_free(outgoing(channel));
  if (shards_current == (confirming ? 1 : shards.size())) finish_round();
}

// Notes a message for the policy. A channel may be advanced twice between two reports, since a
// gather may end after its round; the later message counts then.
void Core::State::observe(const AdvanceDone& event, OutgoingChannel& out) {
  if (!event.curve.empty()) out.curve = event.curve;
  const MessageObservation observation{
      links.number(out.link),       plan.channels[event.channel].phase,
      plan.elements(event.channel), event.wanted_energy,
      event.missing_energy,         event.curve.empty() ? nullptr : &out.curve};
  if (out.observation < observations.size()) {
    observations[out.observation] = observation;
    return;
  }
  out.observation = observations.size();
  observations.push_back(observation);
}

void Core::State::tell_policy() {
  if (!measures) return;
  const Duration took = now - report.begun - from_seconds(verdict.evaluate_s);
  if (!confirming) policy->observe({round, std::max(took, Duration{0}), observations});
  observations.clear();
  for (OutgoingChannel& out : outs) out.observation = OutgoingChannel::kUnobserved;
  report.policy_state = policy->state();
}

void Core::State::finish_round() {
  if (!confirming) work_times.end_round();
  report.ended = now;
  report.verdict = verdict;
  report.links = links.take_reports();
  tell_policy();
  emit(Report{report});
  evaluated += from_seconds(verdict.evaluate_s);
  if (confirming && verdict.stop) {
    stop_reason = verdict.reason;
    ending = true;
    ended_at = now;
    return try_end();
  }
  begin_round(round + 1);
}

}  // namespace kimesh
