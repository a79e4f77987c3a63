// The search for the round time with which a mesh learns most in a second.
//
// A round takes the longest gradient and the time that its messages get, the exchange. More time
// means larger messages, which leave less out; what is left out comes rounds later. A message that
// holds the share α of what there was to send is 1/α − 1 rounds late on the average; D is the mean
// of that over the reduces and the mean over the gathers together. A mesh whose messages are D
// rounds late needs about
//
//   1 + kDelayCost · D + u · (D / kDelayOfUnlikeData)²
//
// times as many rounds, where u says how unlike the nodes' data are (docs/architecture.md, "Round
// time").
//
// Every few rounds each node offers how late its messages would be with other times of the
// exchange. Offers go up with the control vector, and the owner of shard 0 chooses for all.
#pragma once

#include <array>
#include <cstddef>

#include "kimesh/policy/policy.h"

namespace kimesh {

// The times that are compared, as multiples of the present one: small factors refine the time near
// the best one, large ones come near it quickly.
inline constexpr std::array<double, 5> kExchangeFactors{0.25, 0.7071, 1, 1.4142, 4};
// Rounds between two offers. One round costs a measurement, and the median of the rounds between
// shows what the last choice brought.
inline constexpr Round kOfferEvery = 4;
// Of the formula above, fitted to runs of the cnn on a ring and a parameter server, even and split
// by label (docs/figures.md). A round of delay takes 6.5 % more rounds, since most of what is late
// is noise of batches. Where data are unlike, what is late is what nodes disagree about.
inline constexpr double kDelayCost = 0.065;
inline constexpr double kDelayOfUnlikeData = 3;
// Gradients of nodes whose data are alike differ by noise, which is as large in a sum as in its
// terms together. Up to the first ratio of the two energies, terms to sum, data count as alike, and
// from the second on as unlike. Residuals raise the ratio even with like data: to 1.5 in a ring
// with D = 12.
inline constexpr double kAlikeRatio = 1.5, kUnlikeRatio = 2.5;
// The exchange of the first kOfferEvery rounds, as a multiple of the longest gradient. It is
// generous, since errors of the first rounds cost most.
inline constexpr double kFirstExchange = 1;
// Seconds. No message takes less, and no round is worth more.
inline constexpr double kExchangeMin = 1e-4, kExchangeMax = 3600;

// What one node offers, or the sum of several nodes' offers.
struct ExchangeOffer {
  // Σ weight · (1/α − 1) of messages, by factor of kExchangeFactors.
  std::array<double, kExchangeFactors.size()> delay{};
  double weight = 0;  // Σ weight: 1 for all reduces, and 1 for all gathers, of the mesh
  // The energy that there was to send: the sum over all reduces, and over the gathers of each shard
  // their mean.
  std::array<double, 2> energy{};
  double least_s = 0;  // max: the shortest exchange that floors and fixed costs allow
  void merge(const ExchangeOffer& other);
  bool operator==(const ExchangeOffer&) const = default;
};

// A message that a node sends in every round.
struct OfferedMessage {
  const MessageContext& context;  // of now, with the present round_time
  const Curve& curve;             // as last measured; empty: never, so that it offers nothing
  Phase phase = Phase::kReduce;
  double weight = 0;         // its part of all messages of its phase
  double energy_weight = 1;  // of its energy in ExchangeOffer::energy
};
// Requires a codec with the trait has_curves.
void add_to_offer(ExchangeOffer& offer, const OfferedMessage& message, const Codec& codec);
// Only the time that the message's link takes at least, for messages that others choose.
void add_least(ExchangeOffer& offer, const MessageContext& context, const Codec& codec);

// How unlike the data of nodes are, from 0 to 1, by the ratio of the energies of an offer. `hops`
// is the mean number of hops from a node to the owner of a shard: a node's noise is sent so often.
// Only with movements (Feedback::kEf14), since gradients and parameters have different units.
// Without energies: 0.
[[nodiscard]] double unlikeness(const ExchangeOffer& offers, double hops);

// The time of the exchange that is best for the next rounds. `round_s` is what rounds of now take.
// Without offers: the present one.
[[nodiscard]] double best_exchange(double exchange_s, double round_s, const ExchangeOffer& offers,
                                   double unlike);

}  // namespace kimesh
