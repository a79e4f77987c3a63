// What a node says to the owner of shard 0, for the search: how late its messages would be with
// other times of the exchange, how long the smallest would take, the room for even ones, and how
// many local steps the node could take.
#include <algorithm>

#include "state.h"

namespace kimesh {

// A shared message that is forwarded is no choice of this node.
bool Core::State::is_own_choice(const OutgoingChannel& out) const {
  const Channel& channel = plan.channels[out.channel];
  return !is_shared(channel) || (owns(channel.shard) && out.channel == lead_of(channel.shard));
}

bool Core::State::wants_curve(Round of) const {
  return measures || (searches && (of + 1) % kOfferEvery == 0);
}

// Whether the steps of round `of` are to say how far their terms agree: those before an offer, and
// all before the first one, which decides more. Gradients, which ef21 sends, have not been tried.
bool Core::State::wants_agreement(Round of) const {
  return searches && options.feedback == Feedback::kEf14 && (of < kOfferEvery || wants_curve(of));
}

// The share of a channel's message in all messages of its phase, by elements. A shard has one
// message of a shared gather, and as many others as there are other nodes.
double Core::State::weight_of(const OutgoingChannel& out) const {
  const auto others = static_cast<double>(plan.view.nodes.size() - 1);
  const double messages = is_shared(plan.channels[out.channel]) ? 1 : others;
  return static_cast<double>(plan.elements(out.channel)) /
         (messages * static_cast<double>(plan.layout.size()));
}

// Says in some rounds how late this node's messages would be with other times of the exchange, from
// what was measured in the round before. In the rounds before the first offer it says only what
// their number of local steps depends on: the time of the smallest messages, and in round 1 how far
// the movements of round 0 agree. The first offer includes these movements. Called while the
// gradient is computed, or, where it is there already, before the first message.
void Core::State::offer_exchange() {
  const bool is_offer = round > 0 && round % kOfferEvery == 0;
  const bool is_before_first = options.local_steps_vary && round > 0 && round < kOfferEvery;
  if (!searches || confirming || offered == round || (!is_offer && !is_before_first)) return;
  offered = round;
  if (options.local_steps_vary) own.offer.smallest_s = time_of_smallest_messages();
  if (is_offer || round == 1) {
    own.offer.agreement = agreement.sum;
    own.offer.agreement_weight = agreement.weight;
  }
  if (!is_offer) return;
  agreement = {};
  const CodecPtr& codec = options.policy.codec;
  for (OutgoingChannel& out : outs) {
    const MessageContext context = context_of(out, round);
    if (!is_own_choice(out)) {
      add_limits(own.offer, context);
      continue;
    }
    add_to_offer(own.offer, {context, weight_of(out)}, codec);
  }
}

// Whether the nodes' data seem unlike. Only the owner of shard 0 knows. Other nodes see that the
// mesh may look ahead and does not: with like data it nearly always does, since that costs nothing.
bool Core::State::data_seem_unlike() const {
  return options.feedback == Feedback::kEf14 && options.look_ahead == Use::kChosen &&
         ahead == Ahead::kNo;
}

// Whether messages may be of one size: where the mesh chooses all of it, and each message is made
// by the codec that suits its size best. Not where sums of several nodes travel: residuals of each
// hop differ anyway, and links that could carry more would stay idle (docs/figures.md: 1.5 times
// the time on a tree). Nor where nodes with like data may not look ahead: delay costs them more.
bool Core::State::may_send_even_messages() const {
  return searches && !options.policy.round_time && shares_gathers && plan.has_one_hop_each_way() &&
         options.policy.codec->kind_name() == "dzq" && options.feedback == Feedback::kEf14 &&
         options.look_ahead == Use::kChosen;
}

Core::State::MessageBytes Core::State::bytes_of_last_round() const {
  MessageBytes bytes;
  for (const OutgoingChannel& out : outs) {
    if (!is_own_choice(out)) continue;
    bytes.payload += static_cast<double>(out.payload_bytes);
    bytes.frames += static_cast<double>(overhead(out, round - 1) + options.chunk_overhead_bytes);
    bytes.elements += static_cast<double>(plan.elements(out.channel));
  }
  return bytes;
}

// The seconds that this node's messages would take with kLeastEvenBits an element, or with fewer
// where the last ones had fewer: what they take besides bytes, and the rest of the last round's
// time in proportion to their bytes. It is an upper bound where gradients take longer than those.
// Before the first offer links have not told yet what they take besides bytes, but for their round
// trips.
double Core::State::time_of_smallest_messages() const {
  const MessageBytes last = bytes_of_last_round();
  const double exchange_s = std::max(took_s - to_seconds(time_before_messages()), kExchangeMin);
  const double least = std::min(kLeastEvenBits / 8 * last.elements, last.payload);
  const double bytes = last.frames + last.payload;
  if (!(bytes > 0)) return 0;
  const Duration besides = round >= kOfferEvery ? time_besides_bytes() : time_of_round_trips();
  const double besides_s = std::min(to_seconds(besides), exchange_s);
  return besides_s + (exchange_s - besides_s) * (last.frames + least) / bytes;
}

// The room for even messages of like data, by this node's last messages: their bits an element
// times a gradient's share of the round. kNoRoom: at the speed of these messages, ones of
// kLeastEvenBits would take longer than a gradient with their frames.
double Core::State::room_by_last_round() const {
  const MessageBytes last = bytes_of_last_round();
  const double gradient_s = verdict.compute_s / verdict.local_steps;
  const double exchange_s = took_s - to_seconds(time_before_messages());
  const double least = kLeastEvenBits / 8 * last.elements;
  if (exchange_s * (last.frames + least) > gradient_s * (last.frames + last.payload))
    return kNoRoom;
  const double part = std::min(gradient_s / took_s, 1.0);
  return std::clamp(8 * part * last.payload / last.elements, kLeastEvenBits, kBitsOfDense);
}

void Core::State::tell_room() {
  if (!may_send_even_messages() || confirming || round < kOfferEvery) return;
  const bool seem_alike = !data_seem_unlike();
  double least = 0;
  for (const OutgoingChannel& out : outs) {
    MessageContext context = context_of(out, round);
    if (!context.link.known()) continue;
    // The room is that beside one gradient, also with several local steps or overlap.
    context.compute_time = from_seconds(verdict.compute_s / verdict.local_steps);
    // Like data: where delays and work alone take longer than a gradient, overlap and local steps
    // save more time than small messages do.
    const Duration fixed = time_without_bytes(context) - context.compute_time;
    const bool is_hopeless = seem_alike && fixed > context.compute_time;
    const double room = is_hopeless  ? kNoRoom
                        : seem_alike ? room_for_even_messages(context)
                                     : room_of_unlike_data(context, fixed);
    least = tighter_limit(least, room);
  }
  // Like data: the rates of links tell less than what these have carried, but whether dense
  // messages fit.
  if (seem_alike && even_bits == 0 && least > kNoRoom && least < kBitsOfDense)
    least = room_by_last_round();
  own.room_for_even_messages = tighter_limit(own.room_for_even_messages, least);
}

// Says in some rounds how many times the mesh's local steps this node takes while the slowest takes
// its own.
void Core::State::offer_multiple() {
  if (!options.chooses_multiples || confirming) return;
  unsigned wanted = multiple.offered();
  if (replay)
    wanted = replay->multiple(self, round).value_or(wanted);
  else if (round > 0 && round % kOfferEvery == 0)
    wanted = multiple.wanted(verdict.step_s);
  if (wanted != multiple.offered())
    emit(Decided{{Decision::Kind::kMultiple, round, 0, {}, {}, wanted}});
  multiple.offer(wanted);
  own.multiple = options.data_weight * wanted;
}

}  // namespace kimesh
