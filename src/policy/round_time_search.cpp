#include "kimesh/policy/round_time_search.h"

#include <algorithm>

#include "message_size.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

// A message that holds next to nothing is as late as one that brings every element in turn.
constexpr double kDelayMax = 1 / kFloorRatio;

// A change that promises less than this is noise of the curves.
constexpr double kLeastProgress = 1.01;

double delay_of(double missing, double whole) {
  const double sent = whole - missing;
  return sent > 0 ? std::min(missing / sent, kDelayMax) : kDelayMax;
}

}  // namespace

void ExchangeOffer::merge(const ExchangeOffer& other) {
  for (std::size_t f = 0; f < delay.size(); ++f) delay[f] += other.delay[f];
  weight += other.weight;
  for (std::size_t phase = 0; phase < energy.size(); ++phase) energy[phase] += other.energy[phase];
  least_s = std::max(least_s, other.least_s);
}

void add_least(ExchangeOffer& offer, const MessageContext& context, const Codec& codec) {
  const Duration least = least_round_time(context, codec).value_or(time_without_bytes(context));
  offer.least_s = std::max(offer.least_s, to_seconds(least - context.compute_time));
}

void add_to_offer(ExchangeOffer& offer, const OfferedMessage& message, const Codec& codec) {
  const MessageContext& context = message.context;
  add_least(offer, context, codec);
  if (message.curve.empty()) return;
  const double whole = energy_of(message.curve);
  std::array<double, kExchangeFactors.size()> payloads{};
  const double exchange_s = to_seconds(context.round_time - context.compute_time);
  for (std::size_t f = 0; f < payloads.size(); ++f) {
    MessageContext other = context;
    // What bounds a shared gather follows from the same time, about in proportion. 0 is no limit.
    if (context.limit_bytes > 0)
      other.limit_bytes = 1 + static_cast<std::size_t>(kExchangeFactors[f] *
                                                       static_cast<double>(context.limit_bytes));
    const Duration time = context.compute_time + from_seconds(kExchangeFactors[f] * exchange_s);
    payloads[f] = static_cast<double>(payload_that_fits(budget_bytes(time, other, codec), other));
  }
  const auto dense = static_cast<double>(dense_bytes(context.elements));
  const std::vector<double> missing =
      codec.missing_within(message.curve, payloads, rounding_on(context));
  for (std::size_t f = 0; f < payloads.size(); ++f)
    if (whole > 0 && payloads[f] < dense)
      offer.delay[f] += message.weight * delay_of(missing[f], whole);
  offer.weight += message.weight;
  offer.energy[message.phase == Phase::kReduce ? 0 : 1] += message.energy_weight * whole;
}

double unlikeness(const ExchangeOffer& offers, double hops) {
  const auto [reduces, gathers] = offers.energy;
  if (!(gathers > 0)) return 0;
  const double ratio = reduces / gathers / hops;
  return std::clamp((ratio - kAlikeRatio) / (kUnlikeRatio - kAlikeRatio), 0.0, 1.0);
}

double best_exchange(double exchange_s, double round_s, const ExchangeOffer& offers,
                     double unlike) {
  const double least_s = std::clamp(offers.least_s, kExchangeMin, kExchangeMax);
  const double now_s = std::clamp(exchange_s, least_s, kExchangeMax);
  if (!(offers.weight > 0)) return now_s;
  constexpr double kPhases = 2;
  constexpr std::size_t kSame = kExchangeFactors.size() / 2;
  static_assert(kExchangeFactors[kSame] == 1);
  const auto time_of = [&](std::size_t f) {
    return std::clamp(kExchangeFactors[f] * exchange_s, least_s, kExchangeMax);
  };
  // Seconds that as much progress takes as a round without delay makes.
  const auto seconds_of = [&](std::size_t f) {
    const double delay = kPhases * offers.delay[f] / offers.weight;
    const double disagreement = delay / kDelayOfUnlikeData;
    const double rounds = 1 + kDelayCost * delay + unlike * disagreement * disagreement;
    return rounds * std::max(round_s + time_of(f) - now_s, time_of(f));
  };
  std::size_t best = kSame;
  for (std::size_t f = 0; f < kExchangeFactors.size(); ++f)
    if (seconds_of(f) < seconds_of(best)) best = f;
  return seconds_of(best) * kLeastProgress < seconds_of(kSame) ? time_of(best) : now_s;
}

}  // namespace kimesh
