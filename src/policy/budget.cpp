#include <algorithm>
#include <cmath>

#include "coding.h"
#include "kimesh/policy/even_bits.h"
#include "kimesh/policy/policy.h"
#include "message_size.h"

namespace kimesh {
namespace {

// Larger than any message; keeps the conversion from double defined.
constexpr double kBudgetBytesMax = 1e15;
constexpr double kForever = 1e9;   // seconds; a Duration holds it
constexpr double kAnyRate = 1e12;  // bytes/s

// The messages that follow one another at most, and the parts of a link's time that a round has.
// They differ where messages wait for others on their link.
double hops_of(const MessageContext& message) {
  return std::max(std::min(message.hops, message.slots), 1u);
}
// Of these, the ones that are encoded, and not forwarded as they are.
double encodings_of(const MessageContext& message) {
  const auto hops = hops_of(message);
  return message.encodings > 0 ? std::min<double>(message.encodings, hops) : hops;
}
double slots_of(const MessageContext& message) {
  return std::max(message.slots, 1u);
}
// How many messages a link carries for each hop of a round. 1: none waits for another on its link.
double messages_per_hop(const MessageContext& message) {
  return slots_of(message) / hops_of(message);
}

// What a round takes besides the bytes of its messages and their encodings.
double besides_coding_s(const MessageContext& message) {
  return to_seconds(message.compute_time + message.work_time) +
         hops_of(message) * to_seconds(message.link.way());
}
// As above, with what encodings take whatever the sizes of their messages.
double besides_s(const MessageContext& message) {
  return besides_coding_s(message) + to_seconds(message.encode_time);
}

// What one byte of every message adds to a round, on links of this rate.
double per_byte_s(const MessageContext& message, double bytes_per_s) {
  return slots_of(message) / bytes_per_s + encoding_s_per_byte(message);
}
double per_byte_s(const MessageContext& message) {
  return per_byte_s(message, usable_rate(message));
}

// What bytes may take of a round. One that takes longer than it should by gradients, work and delay
// alone, whatever is sent, is hardly longer with messages that training can live with.
double time_for_bytes_s(Duration round_time, const MessageContext& message) {
  const double besides = besides_s(message);
  return std::max(to_seconds(round_time) - besides, kShareOfLongRound * besides);
}

double dense_message_bytes(const MessageContext& message) {
  return static_cast<double>(whole_bytes(dense_bytes(message.elements), message));
}

// What the link carries in so many slots, as far as its rate is known.
double bytes_in_slots(double slots, Duration round_time, const MessageContext& message) {
  const double slot_s = to_seconds(round_time - message.compute_time) / slots_of(message);
  return slots * usable_rate(message) * std::max(slot_s, 0.0);
}

double probe_bytes(Duration round_time, const MessageContext& message) {
  const double by_time = bytes_in_slots(kProbeSlotsMax, round_time, message);
  return std::min({by_time, static_cast<double>(kProbeBytesMax),
                   kProbeGrowthMax * static_cast<double>(message.proven_bytes),
                   dense_message_bytes(message)});
}

// Whether something has told what the link can take in the long run.
bool has_share(const MessageContext& message) {
  return std::isfinite(message.share_bytes_per_s) && message.share_bytes_per_s > 0;
}

// The largest message that the growth limits allow, other than a probe.
double growth_limit(Duration round_time, const MessageContext& message) {
  const auto proven = static_cast<double>(message.proven_bytes);
  if (has_share(message)) return kGrowthMax * proven;
  const double fast = std::min({bytes_in_slots(kFastGrowthSlots, round_time, message),
                                kFastGrowthMax * proven, dense_message_bytes(message)});
  return std::max(fast, kGrowthMax * proven);
}

// What the growth limits leave of a budget.
double limited(double budget, Duration round_time, const MessageContext& message) {
  if (message.first_rounds_bytes > 0)
    budget = std::min(budget, static_cast<double>(message.first_rounds_bytes));
  if (message.largest_bytes > 0)
    budget = std::min(budget, kProbeGrowthMax * static_cast<double>(message.largest_bytes));
  const double limit = growth_limit(round_time, message);
  if (!message.link.lower_bound || message.proven_bytes == 0 || budget <= limit) return budget;
  const bool probes = message.unfilled_messages > 0 && message.unfilled_messages % kProbeEvery == 0;
  return probes ? std::max(limit, probe_bytes(round_time, message)) : limit;
}

// The least budget of a link whose messages so far were too small to tell what it sustains. Without
// it messages would grow by half from a guess, and every tenth one would be a probe. Returns 0
// where the link needs no larger message, or where it seems too slow for one.
double second_budget(const MessageContext& message) {
  const auto largest = static_cast<double>(message.largest_bytes);
  const double small = std::min<double>(kFirstBytesMax, dense_message_bytes(message)) / 2;
  const bool is_told = !message.link.lower_bound || has_share(message);
  if (is_told || message.first_rounds_bytes > 0 || largest == 0 || largest > small) return 0;
  const double carried_s =
      to_seconds(message.link.time_of(message.largest_bytes) - message.link.round_trip);
  const double larger_s = carried_s * kFirstBytesMax / largest;
  if (messages_per_hop(message) * larger_s > kSecondMessageMax) return 0;
  return std::min<double>(kFirstBytesMax, kProbeGrowthMax * largest);
}

// The budget of a message on a link of which nothing is known.
double first_budget(const MessageContext& message) {
  const double of_a_hop =
      std::clamp(kFirstBytesPerS * to_seconds(message.own_step_time),
                 static_cast<double>(kFirstBytesMin), static_cast<double>(kFirstBytesMax));
  return of_a_hop / messages_per_hop(message);
}

// What the link carries in time.
double link_budget(Duration round_time, const MessageContext& message) {
  if (!message.link.known()) return first_budget(message);
  double budget =
      time_for_bytes_s(round_time, message) / per_byte_s(message, bounding_rate(message));
  if (const auto dense = dense_round_time(message); dense && *dense <= round_time)
    budget = std::max(budget, dense_message_bytes(message));
  return std::max(limited(budget, round_time, message), second_budget(message));
}

}  // namespace

// The rate that bounds a message. A guess is what the last message took, mostly waiting, over its
// bytes: sizes that follow from it shrink from message to message. They grow until something tells.
double bounding_rate(const MessageContext& message) {
  if (!message.link.is_a_guess() || message.proven_bytes == 0) return usable_rate(message);
  return has_share(message) ? message.share_bytes_per_s : kAnyRate;
}

double usable_rate(const MessageContext& message) {
  const double share = message.share_bytes_per_s;
  return share > 0 ? std::min(message.link.bytes_per_s, share) : message.link.bytes_per_s;
}

std::size_t budget_bytes(Duration round_time, const MessageContext& message, const Codec& codec) {
  double budget = link_budget(round_time, message);
  if (message.limit_bytes > 0) budget = std::min(budget, static_cast<double>(message.limit_bytes));
  return std::max(floor_bytes(message, codec),
                  static_cast<std::size_t>(std::clamp(budget, 0.0, kBudgetBytesMax)));
}

Duration time_without_bytes(const MessageContext& message) {
  return from_seconds(besides_s(message));
}

double encoding_s_per_byte(const MessageContext& message) {
  return (encodings_of(message) + message.encodings_waited_for) * message.encode_s_per_byte;
}

double wire_s_per_byte(const MessageContext& message) {
  return slots_of(message) / bounding_rate(message);
}

double room_for_even_messages(const MessageContext& message) {
  const bool is_told = !message.link.is_a_guess() || has_share(message);
  const double bytes_per_s = is_told ? bounding_rate(message) : usable_rate(message);
  const double slot_s = to_seconds(message.compute_time) / slots_of(message);
  const auto frame = static_cast<double>(message.overhead_bytes + message.chunk_overhead_bytes);
  const double bytes = kExchangeOfEvenMessages * (slot_s * bytes_per_s - frame);
  return std::clamp(8 * bytes / static_cast<double>(message.elements), kNoRoom, kBitsOfDense);
}

double room_of_unlike_data(const MessageContext& message, Duration fixed) {
  MessageContext beside_all_else = message;
  beside_all_else.compute_time += fixed;
  return std::max(room_for_even_messages(message),
                  std::min(room_for_even_messages(beside_all_else), kRoomForUsualBits));
}

RoundCost round_cost(const MessageContext& message) {
  if (!message.link.known()) return {};
  const auto overhead = static_cast<double>(message.overhead_bytes + message.chunk_overhead_bytes);
  const double each = per_byte_s(message);
  return {besides_s(message) + each * overhead, each};
}

std::optional<Duration> least_round_time(const MessageContext& message, const Codec& codec) {
  if (!message.link.known() || message.link.lower_bound) return std::nullopt;
  const auto floor = static_cast<double>(floor_bytes(message, codec));
  return from_seconds(std::min(besides_s(message) + floor * per_byte_s(message), kForever));
}

std::optional<Duration> dense_round_time(const MessageContext& message) {
  if (!message.link.known()) return std::nullopt;
  const double wire_s = slots_of(message) * dense_message_bytes(message) / usable_rate(message);
  return from_seconds(std::min(besides_coding_s(message) + wire_s, kForever));
}

}  // namespace kimesh
