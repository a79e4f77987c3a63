// What a round takes besides its messages, whether the config's round time has room for it, and the
// search for a round time, where the config gives none, and for the way to take gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "state.h"

namespace kimesh {

namespace {

// While gradients hide the time of messages, links may become faster. So what was learnt of that
// time becomes this part of it with each offer: a mesh tries fewer steps about every 40 rounds.
constexpr double kForgets = 0.95;

}  // namespace

// Says once that rounds will take longer than the config asks for, where that is sure. Where
// gradients alone take longer than that, every node would say so; only the owner of shard 0 does.
void Core::State::check_round_time(const MessageContext& context) {
  const auto& wanted = options.policy.round_time;
  constexpr Round kRoundsToLearn = 20;  // enough for rates, and for times that are not the first's
  if (complained_of_time || !fills_rounds(options) || !wanted || round < kRoundsToLearn) return;
  const auto text = [](Duration time) { return fmt::format("{:.3g} ms", 1e3 * to_seconds(time)); };
  const Duration gradients = from_seconds(verdict.compute_s);
  if (ahead == Ahead::kOverlaps && gradients > *wanted) {
    complained_of_time = true;
    if (owns(0))
      emit(Notice{fmt::format("round_time is {}, but gradients, beside which messages go, take {}",
                              text(*wanted), text(gradients))});
    return;
  }
  // Of a link whose rate is a bound only work is sure.
  const Duration work = context.compute_time + context.encode_time + context.work_time;
  const auto with_messages = least_round_time(context, *options.policy.codec);
  const Duration least = with_messages.value_or(work);
  if (least <= *wanted) return;
  if (context.compute_time > *wanted && !owns(0)) return;
  complained_of_time = true;
  if (!with_messages) {
    emit(
        Notice{fmt::format("round_time is {}, but a round takes {} or more: gradients and other "
                           "work alone take that",
                           text(*wanted), text(work))});
    return;
  }
  const Link& link = plan.links[links.link(context.link_number)];
  emit(
      Notice{fmt::format("round_time is {}, but a round takes {} or more: {} for gradients and "
                         "other work, {} for {} of "
                         "the smallest messages on link {}->{}, one after another",
                         text(*wanted), text(least), text(work), text(least - work), context.slots,
                         name(link.from), name(link.to))});
}

Duration Core::State::round_time() const {
  const double compute_s = verdict.compute_s;
  if (ahead == Ahead::kOverlaps) {
    const auto& given = options.policy.round_time;
    if (!given) return from_seconds(verdict.exchange_s);
    return from_seconds(std::max(to_seconds(*given), kExchangeBesideGradient * compute_s));
  }
  if (options.policy.round_time) return *options.policy.round_time;
  return from_seconds(compute_s + verdict.exchange_s);
}

void Core::State::plan_round() {
  planned_before = time_before_messages();
  planned_exchange = round_time() - planned_before;
}

// The time of the round's messages over the time that the plan has for them, for FirstRounds.
// Gathers may follow the verdict that ends the round, so that the longer exchange of the two
// counts. Where the rest of a round takes longer than the round is to, the plan has a little time
// for messages all the same. With overlap messages may take as long as the gradient. Where this
// node sent no message that was too large, a slow gradient may have taken the time, so that the
// plan counts as one gradient at least, and round 0, which nodes begin at unlike times, as in time.
// `took`: the round without its encodings, since larger messages may need no coder.
double Core::State::over_plan(Duration took) const {
  const bool sent_too_large = links.sent_too_large();
  if (round == 0 && !sent_too_large) return 0;
  const Duration delays = time_besides_bytes();
  const Duration exchange = std::max(planned_exchange, round_time() - time_before_messages());
  const double besides_s = to_seconds(planned_before + delays);
  const double least_s = std::max(kShareOfLongRound * besides_s, kExchangeMin);
  const bool holds_gradient = ahead == Ahead::kOverlaps || !sent_too_large;
  const double planned_s =
      std::max({to_seconds(exchange - delays), least_s, holds_gradient ? verdict.compute_s : 0});
  return std::max(to_seconds(took) - besides_s, 0.0) / planned_s;
}

// The longest time that a message of this node takes besides gradients and bytes: delays of links,
// and work at each hop.
Duration Core::State::time_besides_bytes() const {
  Duration longest{0};
  for (const OutgoingChannel& out : outs) {
    const MessageContext context = context_of(out, round);
    longest = std::max(longest, time_without_bytes(context) - context.compute_time);
  }
  return longest;
}

// The part of time_besides_bytes() that is known before the first offer: half a round trip for each
// hop.
Duration Core::State::time_of_round_trips() const {
  Duration longest{0};
  for (const OutgoingChannel& out : outs) {
    const Duration round_trip = links.estimate(out.link).round_trip;
    longest = std::max(longest, plan.hops * round_trip / 2);
  }
  return longest;
}

// What messages have to wait for before they are sent.
Duration Core::State::time_before_messages() const {
  return ahead == Ahead::kOverlaps ? Duration{0} : from_seconds(verdict.compute_s);
}

// The last rounds with even messages, for BitsByRounds; nothing where messages are not even. None
// counts while an alarm of the loss guard makes messages larger than BitsByRounds chose.
std::optional<RoundsOfSize> Core::State::rounds_of_even_messages() const {
  if (even_bits == 0) return std::nullopt;
  if (loss_guard.caution() > 1) return RoundsOfSize{};
  const bool overlaps = ahead == Ahead::kOverlaps;
  const double besides_s = overlaps ? 0 : offers.at(verdict.exchange_s).least_s;
  // With overlap the rounds after a long one are shorter than a gradient, which is no usual length.
  const double least_s = overlaps ? verdict.compute_s : 0;
  return RoundsOfSize{std::max(round_times.value(), least_s), std::max(round_times.mean(), least_s),
                      verdict.compute_s, besides_s, round_times.count()};
}

// At the owner of shard 0. Returns the bits an element of the next messages, or 0 where they are
// not even. Like data: even messages begin when enough offers have told that data are alike,
// because small messages of one size hide whether they are. An alarm of the loss guard asks for
// less delay, which takes larger messages.
double Core::State::agree_on_bits(double room) {
  const bool are_unlike = data.unlike() >= kUnlikenessOfLookAhead;
  if (room > 0)
    are_unlike ? agreed_bits.add_of_unlike_data(room)
               : agreed_bits.add_of_like_data(room, rounds_of_even_messages());
  if (are_unlike) return agreed_bits.value();
  if (!data.is_sure() || !data.may_look_ahead()) return 0;
  const double more = std::clamp(loss_guard.caution(), 1.0, kCautionStep);
  return std::min(more * agreed_bits.value(), kBitsOfDense);
}

// At the owner of shard 0. It tells all nodes the median of the longest gradients, so that one slow
// gradient takes no bytes from the next round.
void Core::State::choose_pace(const ControlVector& from_all, Verdict& next) {
  compute_times.add(from_all.compute_s);
  const double exchange_s =
      std::max(to_seconds(round_time() - time_before_messages()), kExchangeMin);
  const Pace present{exchange_s, ahead, verdict.local_steps};
  stretch.add(from_all.compute_s, present);
  next.step_s = from_all.step_s;
  if (replay) {
    if (const auto logged = replay->pace(round)) {
      next.ahead = logged->ahead;
      next.local_steps = logged->local_steps;
      next.mean_multiple = logged->mean_multiple;
    }
  } else if (searches) {
    if (const auto cosine = mean_cosine(from_all.offer))
      round < kOfferEvery ? data.add_first(*cosine) : data.add(*cosine);
    learn_smallest(from_all.offer.smallest_s);
    loss_guard.add(next.loss, data.unlike() >= kUnlikenessOfLookAhead, even_bits > 0);
    next.even_bits = as_float(agree_on_bits(from_all.room_for_even_messages));
    const Pace pace = next_pace(present, from_all.offer);
    if (!options.policy.round_time) next.exchange_s = pace.exchange_s;
    next.ahead = pace.ahead;
    next.local_steps = pace.local_steps;
    const bool may_take_more =
        data.may_look_ahead() && next.local_steps * kMultipleMax <= kLocalStepsMax;
    next.mean_multiple = may_take_more ? mean_multiple_of(from_all.multiple) : 1;
  }
  next.compute_s = compute_times.value() * next.local_steps;
  const bool steps_change =
      next.local_steps != verdict.local_steps || next.mean_multiple != verdict.mean_multiple;
  // An exchange that stays is rounded to nanoseconds, and its parts to floats.
  constexpr double kSame = 1e-6, kSameSeconds = 2e-9;
  const bool exchange_changes =
      std::abs(next.exchange_s - verdict.exchange_s) > kSame * verdict.exchange_s + kSameSeconds &&
      !(even_bits > 0 && next.even_bits > 0);  // the exchange of even messages is what they take
  const bool bits_change = is_another_size(verdict.even_bits, next.even_bits);
  const bool others_change = next.ahead != verdict.ahead || exchange_changes || bits_change;
  if (steps_change || (round >= kOfferEvery && others_change)) {
    // The gradient of the next round may have been asked for before this choice.
    round_times = message_times = {};
    settled = round + 2;
  }
  if (steps_change || next.ahead != verdict.ahead) {
    agreed_bits.forget_lengths();
    emit(Decided{{Decision::Kind::kPace, round, 0, {}, next}});
  }
}

// How gradients are taken before the first offer. They overlap wherever the config allows it: the
// shorter rounds save more than the delay costs, with unlike data too (docs/experiments.md,
// "Overlap before the first offer").
Ahead Core::State::first_way() const {
  const bool may_overlap = allows(options.look_ahead, options.overlap, Ahead::kOverlaps);
  return may_overlap ? Ahead::kOverlaps : ahead;
}

// The most local steps, by powers of two up to `most`, whose gradients take no longer than
// `seconds`. One step is always allowed.
unsigned Core::State::steps_within(double seconds, unsigned most) const {
  unsigned steps = 1;
  while (2 * steps <= most && 2 * steps * compute_times.value() <= seconds) steps *= 2;
  return steps;
}

// Whether the rounds before the first offer may have several local steps. Several cost no time
// where gradients overlap with messages that take longer. A replay begins as its run did.
bool Core::State::may_begin_with_steps() const {
  return options.policy.searches() && options.local_steps_vary && first_way() == Ahead::kOverlaps;
}

// How many local steps a round has before the first offer: kFirstSteps, until round 1 tells whether
// the first movements agree. Where they do not it is one, because late movements of several steps
// hide that data are unlike. Where they do it may be more.
unsigned Core::State::first_steps() const {
  if (!may_begin_with_steps()) return 1;
  if (round == 0) return verdict.local_steps;
  if (!data.first_movements_agree()) return 1;
  const double seconds = kFirstGradientsOverSmallest * smallest_s;
  return std::max(kFirstSteps, steps_within(seconds, kFirstStepsMax));
}

Pace Core::State::next_pace(const Pace& present, const ExchangeOffer& offer) {
  const double compute_s = compute_times.value();
  if (round < kOfferEvery) {
    const double first_s = plan.has_one_hop_each_way() ? std::max(compute_s, kFirstExchangeMin)
                                                       : kFirstExchangeOfHops * compute_s;
    return {first_s, first_way(), first_steps()};
  }
  PaceRules rules{round_times.value(),  compute_s,
                  data.unlike(),        options.look_ahead,
                  options.overlap,      {},
                  loss_guard.caution(), options.local_steps_vary ? kLocalStepsMax : 1};
  if (const auto& given = options.policy.round_time) rules.round_time_s = to_seconds(*given);
  rules.smallest_are_long = smallest_s > kLongMessages * compute_s;
  if (options.local_steps_vary && data.may_look_ahead() && !rules.smallest_are_long)
    rules.local_steps_max = steps_within(kGradientsOverSmallest * smallest_s, kLocalStepsMax);
  if (!data.may_look_ahead()) {
    if (rules.look_ahead == Use::kChosen) rules.look_ahead = Use::kNever;
    if (rules.overlap == Use::kChosen) rules.overlap = Use::kNever;
  }
  if (!(offer.weight > 0)) return best_pace(present, rules, {});
  offers.add(present.exchange_s, offer);
  // What messages have taken in the last rounds, or are to take where none was measured yet.
  const bool is_measured = round_times.count() > 0;
  const double messages_s = is_measured ? measured_messages_s() : present.exchange_s;
  if (is_measured) learn_floor(offer, present.exchange_s, messages_s);
  rules.floor_s = floor_s;
  rules.shortest_delay = shortest_delay(offer);
  rules.has_several_hops = !plan.has_one_hop_each_way();
  rules.drift = options.drift;
  rules.overlap_cost = options.overlap_cost;
  // A caution under 1 was learnt from rounds that bore delays of uneven messages.
  if (even_bits > 0) rules.caution = std::max(rules.caution, 1.0);
  rules.messages_are_even = even_bits > 0;
  // While rounds may be too long because of the messages' size, the mesh does not begin to overlap.
  const bool may_overlap = ahead == Ahead::kOverlaps || agreed_bits.are_settled();
  const bool is_compressed = even_bits > 0 && even_bits < kBitsOfDense;
  if (is_compressed && !may_overlap && rules.overlap == Use::kChosen) rules.overlap = Use::kNever;
  // Messages that take less time than a gradient are no reason for more local steps.
  if (even_bits > 0 && options.local_steps_vary) {
    if (ahead != Ahead::kNo)
      rules.local_steps_max = present.local_steps;
    else if (!data.may_look_ahead())
      rules.local_steps_max = kLocalStepsMaxOfUnlikeDataOfEvenMessages;
  }
  rules.stretch = stretch.measured();
  const ExchangeOffer mean = offers.at(present.exchange_s);
  delay = present_delay(mean);
  Pace pace = best_pace(present, rules, mean);
  // The size of even messages does not follow from the exchange: the exchange is what they take.
  if (even_bits > 0) pace.exchange_s = messages_s;
  return pace;
}

// The time of messages in the rounds that round_times counts. With overlap the length of a round
// does not tell it where gradients take longer. So it counts from the end of this node's own part,
// which is when its gradient is there. It is an upper bound where another node is slower.
double Core::State::measured_messages_s() const {
  const double messages_s = ahead == Ahead::kOverlaps
                                ? message_times.value()
                                : round_times.value() - to_seconds(time_before_messages());
  return std::max(messages_s, kExchangeMin);
}

// Whether gradients hide the time of the messages beside them in rounds that take `round_s`.
bool Core::State::gradients_hide_messages(double round_s) const {
  constexpr double kLonger = 1.25;  // times a gradient: rounds that show what messages take
  return ahead == Ahead::kOverlaps && round_s < kLonger * verdict.compute_s;
}

// Learns the time of the smallest messages from the longest that a node has offered. Where
// gradients hid the time of messages, the offer is an upper bound.
void Core::State::learn_smallest(double offered_s) {
  if (!(offered_s > 0)) return;
  smallest_s =
      gradients_hide_messages(took_s) ? std::min(kForgets * smallest_s, offered_s) : offered_s;
}

// Learns the least time of messages. It is the measured one where a shorter exchange was in vain:
// messages took less by not even half as much. Where messages of this exchange, or of a shorter
// one, are the smallest, it is that share of it. Elsewhere the measured time is an upper bound.
void Core::State::learn_floor(const ExchangeOffer& offer, double exchange_s, double messages_s) {
  if (gradients_hide_messages(round_times.value())) {
    floor_s *= kForgets;
    return;
  }
  constexpr double kShorter = 0.8;  // a factor of the exchange that is no noise
  const bool is_in_vain = last_exchange_s > 0 && exchange_s < kShorter * last_exchange_s &&
                          messages_s > (1 + exchange_s / last_exchange_s) / 2 * last_messages_s;
  last_exchange_s = exchange_s;
  last_messages_s = messages_s;
  const double share = is_in_vain ? 1 : share_of_smallest(offer);
  floor_s = share > 0 ? share * messages_s : std::min(floor_s, messages_s);
}

// One JSON object for the run's record. What was offered is known at the owner of shard 0.
std::string Core::State::search_state() const {
  std::string text = fmt::format(
      R"({{"round_time":{:.6g},"exchange":{:.6g},"ahead":"{}","local_steps":{})",
      to_seconds(round_time()), verdict.exchange_s, ahead_name(ahead), round_steps.own());
  if (owns(0))
    text += fmt::format(R"(,"delay":{:.6g},"unlike":{:.6g},"caution":{:.6g})", delay, data.unlike(),
                        loss_guard.caution());
  if (even_bits > 0) text += fmt::format(R"(,"even_bits":{:.6g})", even_bits);
  return text + "}";
}

}  // namespace kimesh
