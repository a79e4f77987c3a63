// A shared gather: the owner makes one message of a shard, and every node forwards it as it is. It
// is what `gather: shared` asks for, and what is done wherever every message is dense. All copies
// of the shard are equal then, the owner's w[s] among them. A channel that is to begin a new
// generation, because its far side's digest differed, is sent w[s] itself instead.
#include <algorithm>
#include <utility>

#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

// Called when the reduce messages of the children are there. The limit goes up with this node's
// reduce message, so that the owner learns the least of all nodes.
void Core::State::limit_gather(ShardIndex s) {
  const NodeChannels& here = plan.node_channels[s][self];
  double limit = 0;
  for (const ChannelIndex channel : here.reduce_in) {
    const Control& from_child = incoming(channel).control;
    limit = tighter_limit(limit, s == 0 ? ControlVector::from_control(from_child).gather_limit
                                        : gather_limit_from_control(from_child));
  }
  shards[s].gather_limit = 0;  // context_of would apply the limit of the round before
  if (!replay)
    for (const ChannelIndex channel : here.gather_out) {
      const std::size_t bytes = policy->budget(context_of(outgoing(channel), round));
      limit = tighter_limit(limit, static_cast<double>(bytes));
    }
  shards[s].gather_limit = limit;
  if (s == 0) sum.gather_limit = limit;
}

// At the owner, once its shard is stepped.
void Core::State::make_shared_message(ShardIndex s) {
  OutgoingChannel& lead = outgoing(lead_of(s));
  const std::optional<Setting> setting =
      choose(lead, {round, confirming, round == verdict.closing_round});
  if (!setting) return fail(describe(lead.channel) + ": the decision log ends before this round");
  begin_encoding(lead, round, *setting);
  shards[s].is_making = true;
  emit(AdvanceChannel{lead.channel, round, shards[s].gather_terms, lead.estimate, *setting, false,
                      digest_is_due(round), Feedback::kEf21, wants_curve(round)});
}

void Core::State::shared_message_made(AdvanceDone event) {
  const Channel& channel = plan.channels[event.channel];
  KIMESH_CHECK(event.round == round, "a round ends with its shared messages made");
  OutgoingChannel& lead = outgoing(event.channel);
  shards[channel.shard].is_making = false;
  observe(event, lead);
  lead.payload_bytes = event.payload.size();
  const std::size_t bytes = lead.payload_bytes + overhead(lead, round);
  time_encoding(lead, event, bytes);
  links.add_message(event, channel, plan.elements(event.channel), 0);
  report_layers(event);
  shards[channel.shard].shared = {event.form, event.digest, control_for(channel),
                                  std::move(event.payload)};
  send_gathers(channel.shard);
  shard_is_current(channel.shard);
}

void Core::State::begin_shared_message(OutgoingChannel& out) {
  ShardState& shard = shards[plan.channels[out.channel].shard];
  const bool assigns = restarts(out, out.due.round);
  if (assigns && shard.current != out.due.round) return;  // shard_is_current comes back to it
  out.waiting = false;
  out.busy = true;
  out.sent = out.due;
  assigns ? assign_parameters(out) : send_shared_message(out);
  const auto waits = [&](ChannelIndex channel) { return outgoing(channel).waiting; };
  const ShardIndex s = plan.channels[out.channel].shard;
  if (std::ranges::none_of(plan.node_channels[s][self].gather_out, waits)) shard.shared = {};
}

void Core::State::send_shared_message(OutgoingChannel& out) {
  const SharedMessage& shared = shards[plan.channels[out.channel].shard].shared;
  Message message = message_for(out);
  message.form = shared.form;
  message.digest = shared.digest;
  message.control = shared.control;
  message.payload = shared.payload.share();
  const std::size_t bytes = wire_bytes_of(message);
  traffic += bytes;
  // The elements on the lead's link were counted when the message was made.
  const bool adds_all = message.form == Form::kDense && !is_own_choice(out);
  links.add_forwarded(out.link, adds_all ? plan.elements(out.channel) : 0, bytes);
  emit(SendMessage{out.link, std::move(message), links.send(out.link)});
}

// Sends w[s], which the far side takes as it is.
void Core::State::assign_parameters(OutgoingChannel& out) {
  const ShardState& shard = shards[plan.channels[out.channel].shard];
  out.restart = true;
  out.encoding = true;
  ++out.generation;
  emit(Decided{{Decision::Kind::kReset, out.sent.round, out.channel, {}, {}}});
  emit(AdvanceChannel{out.channel,
                      out.sent.round,
                      shard.parameters,
                      {BufferId::Kind::kEstimate, out.channel},
                      Setting{},
                      true,
                      digest_is_due(out.sent.round),
                      Feedback::kEf21,
                      false});
}

}  // namespace kimesh
