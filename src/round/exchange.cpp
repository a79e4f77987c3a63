// Shards and channels: what a round's messages wait for, and what follows from them.
#include <algorithm>
#include <utility>

#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

void Core::State::begin_round(Round next) {
  round = next;
  confirming = agreeing || (verdict.closing_round != kNoRound && next == verdict.closing_round + 1);
  saves_state = !agreeing && verdict.checkpoint_round == next;
  own_ready = false;
  shards_current = 0;
  own = {};
  own.nodes = 1;
  report = {};
  report.round = round;
  report.confirmation = confirming;
  report.closing = !confirming && verdict.closing_round == next;
  report.checkpoint = saves_state;
  report.begun = now;
  own.stop_wish = stop_wish();
  own.checkpoint_wish = checkpoint_wish();
  if ((saves_state || agreeing) && held) own.checkpoint_held = static_cast<double>(*held) + 1;
  if (agreeing && held) own.samples = 1;
  if (agreeing && held) own.held_lineage = options.checkpoints.newest_lineage;
  if (!confirming) ++trained;

  for (IncomingChannel& in : ins) apply_pending(in);
  begin_own_part();
}

double Core::State::checkpoint_wish() const {
  if (agreeing) return options.checkpoints.has_ended ? kHasEnded : 0;
  return wants_checkpoint && !saves_state ? kCheckpointIsWanted : 0;
}

double Core::State::stop_wish() const {
  if (agreeing) return holds_nothing_lost() ? 0 : kMayHaveLost;
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
  if (compresses && shares_gathers && !confirming) limit_gather(s);
  if (!owns(s)) return send_when_free(outgoing(*here.reduce_out));
  if (s == 0) take_verdict(decide_verdict(sum));
  if (confirming) {
    send_gathers(s);
    return shard_is_current(s);
  }
  shards[s].asked = now;
  emit(StepShard{s, round, shards[s].reduce_terms, options.digest_shards, wants_agreement(round),
                 round_steps.of_mesh()});
}

// Sends the gather messages of this round to the children.
void Core::State::send_gathers(ShardIndex s) {
  const std::vector<ChannelIndex>& children = plan.node_channels[s][self].gather_out;
  for (const ChannelIndex channel : children) make_due(outgoing(channel));
  for (const ChannelIndex channel : children) {
    OutgoingChannel& out = outgoing(channel);
    if (out.waiting && !out.busy) begin_message(out);
  }
}

void Core::State::make_due(OutgoingChannel& out) {
  if (out.waiting)  // a far side that goes on without our message does not keep to the protocol
    return fail(describe(out.channel) + ": two messages are due at once");
  out.due = {round, confirming, round == verdict.closing_round};
  out.waiting = true;
}

// Sends the channel's message of this round, once the far side has applied the one before.
void Core::State::send_when_free(OutgoingChannel& out) {
  make_due(out);
  if (out.waiting && !out.busy) begin_message(out);
}

void Core::State::begin_message(OutgoingChannel& out) {
  const bool shared = is_shared(plan.channels[out.channel]) && !out.due.confirmation;
  if (shared) return begin_shared_message(out);
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
  Message message = message_for(out);
  traffic += wire_bytes_of(message);
  emit(SendMessage{out.link, std::move(message), links.send(out.link)});
}

// Whether the channel's message of round `of` begins a new generation.
bool Core::State::restarts(const OutgoingChannel& out, Round of) const {
  return replay ? replay->reset(out.channel, of) : out.restart;
}

void Core::State::advance(OutgoingChannel& out) {
  const Channel& channel = plan.channels[out.channel];
  const Round of = out.sent.round;
  out.restart = restarts(out, of);
  if (out.restart) {
    ++out.generation;
    emit(Decided{{Decision::Kind::kReset, of, out.channel, {}, {}}});
  }
  const std::optional<Setting> setting = choose(out, out.sent);
  if (!setting) return fail(describe(out.channel) + ": the decision log ends before this round");
  begin_encoding(out, of, *setting);
  const ShardState& shard = shards[channel.shard];
  const bool reduce = channel.phase == Phase::kReduce;
  const Feedback feedback = reduce ? options.feedback : Feedback::kEf21;
  out.encoding = true;
  emit(AdvanceChannel{out.channel, of, reduce ? shard.reduce_terms : shard.gather_terms,
                      out.estimate, *setting, out.restart || feedback == Feedback::kNone,
                      has_digest(channel, of), feedback, wants_curve(of)});
}

bool Core::State::digest_is_due(Round of) const {
  return options.digest_every > 0 && (of + 1) % options.digest_every == 0;
}

// Whether the channel's message of round `of` has a digest. With ef14 receivers of reduces have no
// estimate.
bool Core::State::has_digest(const Channel& channel, Round of) const {
  const bool has_estimate = channel.phase == Phase::kGather || options.feedback != Feedback::kEf14;
  return digest_is_due(of) && has_estimate;
}

// What the channel's message of round `of` takes besides its payload and the heads of its chunks.
std::size_t Core::State::overhead(const OutgoingChannel& out, Round of) const {
  const Channel& channel = plan.channels[out.channel];
  return options.message_overhead_bytes +
         optional_bytes(out.generation, has_digest(channel, of), control_for(channel));
}

std::size_t Core::State::wire_bytes_of(const Message& message) const {
  const std::size_t content =
      options.message_overhead_bytes + optional_bytes(message) + message.payload.size();
  return content + options.chunk_overhead_bytes * chunk_count(content);
}

Control Core::State::control_for(const Channel& channel) const {
  if (channel.phase == Phase::kReduce)
    return channel.shard == 0 ? sum.to_control()
                              : gather_limit_to_control(shards[channel.shard].gather_limit);
  return channel.shard == 0 ? verdict.to_control() : Control{};
}

void Core::State::report_layers(const AdvanceDone& event) {
  if (round % kLayerReportEvery != 0) return;
  report.layers.resize(plan.layout.layers.size());
  const auto& slices = plan.shards[plan.channels[event.channel].shard].layers;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    LayerReport& layer = report.layers[slices[i].layer];
    layer.elements += slices[i].size;
    layer.kept += event.piece_kept.empty() ? slices[i].size : event.piece_kept[i];
  }
}

void Core::State::begin_encoding(OutgoingChannel& out, Round of, const Setting& setting) {
  out.budget = setting.budget;
  out.has_usual_codec = setting.codec == options.policy.codec;
  out.asked = now;
  out.encoded = {};
  emit(Decided{{Decision::Kind::kSetting, of, out.channel, setting, {}}});
}

// Splits the time of an encoding into the part that grows with the bytes and the rest, which is
// work of the round. Where a node makes several messages at the same moment, budgets count the
// bytes of all of them (MessageContext::encodings_waited_for), and the rest leaves them out.
void Core::State::time_encoding(OutgoingChannel& out, const AdvanceDone& event, std::size_t bytes) {
  if (event.form == Form::kDense || !out.has_usual_codec) return;  // no coder was at work
  const auto size = static_cast<double>(bytes);
  out.coding_time.add(size, to_seconds(event.took));
  out.encoded = from_seconds(out.coding_time.per_byte() * size);
  Duration of_bytes = out.encoded;
  if (encodings_waited_for() > 0)
    for (const OutgoingChannel& other : outs)
      if (other.asked == out.asked && other.channel != out.channel) of_bytes += other.encoded;
  work_times.encoded(std::max(now - out.asked - of_bytes, Duration{0}));
}

void Core::State::on(AdvanceDone event) {
  const Channel& channel = plan.channels[event.channel];
  OutgoingChannel& out = outgoing(event.channel);
  report.encode += event.took;
  if (is_shared(channel) && shards[channel.shard].is_making)
    return shared_message_made(std::move(event));
  KIMESH_CHECK(out.encoding && out.sent.round == event.round, "the advance that was asked for");
  out.encoding = false;
  Message message = message_for(out);
  message.restart = std::exchange(out.restart, false);
  message.form = event.form;
  message.digest = event.digest;
  if (channel.phase == Phase::kReduce && options.feedback == Feedback::kEf14) {
    report.residual.energy += event.missing_energy;
    report.residual.of_energy += event.wanted_energy;
  }
  if (!is_shared(channel)) observe(event, out);
  out.payload_bytes = event.payload.size();
  message.payload = std::move(event.payload);
  const std::size_t bytes = wire_bytes_of(message);
  traffic += bytes;
  time_encoding(out, event, bytes);
  links.add_message(event, channel, plan.elements(event.channel), bytes);
  report_layers(event);
  emit(SendMessage{out.link, std::move(message), links.send(out.link)});
  const bool moves_parameters = out.estimate == shards[channel.shard].parameters.front();
  if (moves_parameters && !is_shared(channel)) shard_is_current(channel.shard);
}

// A reduce message may come one round early, from a child that has received its gathers before this
// node. Its estimate is free then, since this round's reduce work has been issued. The parameters
// are read only until this node's own part of the round has ended.
bool Core::State::may_apply(const IncomingChannel& in, Round message_round) const {
  if (!begun) return false;
  const Channel& channel = plan.channels[in.channel];
  if (channel.phase == Phase::kGather) return message_round == round && own_ready;
  if (message_round == round) return true;
  // A checkpoint's state is that before any message of the next round.
  return message_round == round + 1 && !saves_state &&
         (confirming || shards[channel.shard].reduced == round);
}

void Core::State::apply_pending(IncomingChannel& in) {
  if (finished || !in.pending || in.applying) return;
  Message& message = *in.pending;
  if (agreeing && !may_apply_while_agreeing(in)) return;
  const bool again = in.applied != kNoRound && message.round <= in.applied;
  if (again || message.round > round + 1 || (begun && message.round < round) ||
      message.generation < in.generation)
    return fail(describe(in.channel) + ": a message of a round or generation that cannot be");
  if (!may_apply(in, message.round)) return;
  if (message.round == round && (message.form == Form::kEmpty) != confirming)
    return fail(unsuitable(in));
  in.generation = message.generation;
  if (message.form == Form::kEmpty) return applied(in, ApplyOutcome::kApplied);
  in.applying = true;
  in.asked = now;
  const Channel& channel = plan.channels[in.channel];
  if (is_shared(channel) && !plan.node_channels[channel.shard][self].gather_out.empty()) {
    shards[channel.shard].shared = {message.form, message.digest, message.control,
                                    message.payload.share()};
    send_gathers(channel.shard);
  }
  const BufferId target = channel.phase == Phase::kReduce
                              ? BufferId{BufferId::Kind::kEstimate, in.channel}
                              : BufferId{BufferId::Kind::kParameters, channel.shard};
  const bool energy = target.kind == BufferId::Kind::kEstimate && owns(channel.shard) &&
                      wants_agreement(message.round);
  emit(ApplyMessage{in.channel, message.round, target, message.form, message.restart,
                    message.digest != 0, std::move(message.payload), energy});
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
  if (channel.shard == 0) {
    const Verdict next = Verdict::from_control(in.control);
    // Gradients beside messages rely on a closing round that was told before it began.
    const bool is_new = next.closing_round != verdict.closing_round;
    if (is_new && next.closing_round != kNoRound && next.closing_round != round + 1)
      return fail(describe(in.channel) + ": a verdict with a closing round that cannot be");
    const Round saved = next.checkpoint_round;
    if (saved != kNoRound && saved != round + 1)
      return fail(describe(in.channel) + ": a verdict with a checkpoint that cannot be");
    take_verdict(next);
  }
  if (!shares_gathers || confirming) send_gathers(channel.shard);
  shard_is_current(channel.shard);
}

void Core::State::on(const StepDone& event) {
  report.step += event.took;
  work_times.stepped(now - shards[event.shard].asked);
  agreement.sum += event.agreement.sum;
  agreement.weight += event.agreement.weight;
  if (event.digest != 0) report.digests.emplace_back(event.shard, event.digest);
  if (shares_gathers) return make_shared_message(event.shard);
  send_gathers(event.shard);
  // Where w[s] is kept apart, the lead's message moves it.
  if (!keeps_owned_apart(event.shard)) shard_is_current(event.shard);
}

// Called when the parameters of a shard are those of this round. Ends the round after the last
// shard.
void Core::State::shard_is_current(ShardIndex s) {
  KIMESH_CHECK(shards[s].current != round, "a shard becomes current once a round");
  shards[s].current = round;
  ++shards_current;
  for (const ChannelIndex channel : plan.node_channels[s][self].gather_out) {
    OutgoingChannel& out = outgoing(channel);
    if (out.waiting && !out.busy) begin_message(out);  // it assigns the parameters
  }
  try_finish_round();
}

void Core::State::try_finish_round() {
  if (finished || ending || is_saving || shards_current < (confirming ? 1 : shards.size())) return;
  if ((saves_state || agreeing) && !is_drained()) return;
  if (agreeing) return end_agreement();
  finish_round();
}

void Core::State::finish_round() {
  if (round == 0) lineage = verdict.lineage;
  report.ended = now;
  const Duration took = now - report.begun - from_seconds(verdict.evaluate_s);
  if (round == 0) plan_round();  // its verdict is the first that tells T_comp
  if (!confirming) work_times.end_round(took - planned_before);
  if (!confirming && searches && !first_rounds.have_ended()) {
    const double over = over_plan(took - report.encode);
    links.limit_growth(first_rounds.end_round(over, links.sent_too_large()));
  }
  report.verdict = verdict;
  report.links = links.take_reports();
  if (!confirming) took_s = to_seconds(took);
  if (!confirming && round >= settled) {
    round_times.add(took_s);
    message_times.add(to_seconds(now - own_part_ended));
  }
  tell_policy(took);
  emit(Report{report});
  evaluated += from_seconds(verdict.evaluate_s);
  if (confirming && verdict.stop) {
    stop_reason = verdict.reason;
    ending = true;
    ended_at = now;
    return try_end();
  }
  if (saves_state) return save_state();
  begin_round(round + 1);
}

}  // namespace kimesh
