// The search for the pace with which a mesh learns most in a second: how long its rounds take,
// whether gradients are taken ahead of the parameters, and beside messages, and how many local
// steps a round has.
//
// A round takes the longest gradient and the time that its messages get, the exchange. More time
// means larger messages, which leave less out; what is left out comes rounds later. A message that
// holds the share α' of what there was to send is 1/α' − 1 rounds late on the average; D is the
// mean of that over the reduces and the mean over the gathers together. A mesh whose messages are D
// rounds late needs about
//
//   A + (B + C c) · D + U · (D / kDelayOfUnlikeData)²
//
// times as many rounds as one whose messages leave nothing out. A is 1, and with overlap
// OptimizerKind::overlap_cost(); B depends on where gradients are taken (kCostOfDelay); c says how
// far nodes' movements agree, and C what that adds (kCostOfDelayOfAgreement); U says how unlike the
// nodes' data are (docs/architecture.md, "Round time"). With H local steps a round it needs about
//
//   σ + (A − 1) + (B + C c) · D + U · σ · (D / kDelayOfUnlikeData)²,   σ = (1 + ρ (H − 1)) / H
//
// times as many: a step brings less the further nodes go apart (ρ is the optimizer's drift, and
// more where data are unlike), and a round of delay holds back H steps. Where data are unlike, H
// steps save the same part of the rounds whatever D is. H is chosen as if c were 0: longer
// exchanges make more steps seem to pay, which the cnn does not bear. Where even the smallest
// messages take about as long as a gradient (kLongMessages), steps that fit beside them cost no
// time. There σ multiplies all terms, as measured with digits, and H is chosen with c as it is
// (docs/experiments.md, "Steps beside the smallest messages").
//
// Every few rounds each node offers how late its messages would be with other times of the
// exchange. Offers go up with the control vector, and the owner of shard 0 chooses for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "kimesh/policy/policy.h"
#include "kimesh/policy/policy_options.h"

namespace kimesh {

// The times that are compared, as multiples of the present one: small factors refine the time near
// the best one, large ones come near it quickly.
inline constexpr std::array<double, 5> kExchangeFactors{0.25, 0.7071, 1, 1.4142, 4};
// The offers of which the mean counts.
inline constexpr std::uint32_t kOffersOfAMean = 4;
// Rounds between two offers. One round costs a measurement, and the median of the rounds between
// shows what the last choice brought.
inline constexpr Round kOfferEvery = 4;
// The coefficients B, by Ahead, fitted to runs of the cnn on a ring and a parameter server
// (docs/experiments.md). Where data are alike, most of what is late is noise of batches: a round of
// delay costs 6.5 % more rounds, and less where gradients are taken ahead of w or beside
// messages.
inline constexpr std::array<double, 3> kCostOfDelay{0.065, 0.04, 0.03};
// B is so many times that where sums are passed on and gradients are taken ahead of w or beside
// messages. With messages of one size the cnn on a ring needs 0.33 % more rounds for each round of
// delay up to 58, agreement included. With 0.1 in place of 0.3 digits on a ring and a tree at
// 1 Mbit/s take 1.1 times as long. Where messages take one hop each way B is as above: messages are
// soon even there, and shorter exchanges before that would hide that data are unlike
// (docs/experiments.md, "What delay costs").
inline constexpr double kCostOfDelayOfSeveralHops = 0.3;
// B + C c is so many times that where messages are even (even_bits.h) and gradients are taken ahead
// of w or beside messages: the cnn needs 1.08 times the rounds where movements are 25 rounds late,
// and 1.22 times with 48.
inline constexpr double kCostOfDelayOfEvenMessages = 0.1;
// What a round of delay costs besides, times the mean cosine of nodes' movements. Movements that
// agree are no noise of batches, and what is late of them holds the model back. The cosine of the
// first offers is 0.17 to 0.54 with digits, and 0.09 to 0.19 with the cnn (docs/experiments.md).
inline constexpr double kCostOfDelayOfAgreement = 0.1;
// A gradient that is computed beside messages misses the other nodes' last movements, whatever the
// delay. With most optimizers training then needs so many times the rounds
// (OptimizerKind::overlap_cost).
inline constexpr double kOverlapCost = 1.2;
// Where data are unlike, what is late is what nodes disagree about. With 12 in place of 8 the cnn
// on a ring of 1 Mbit/s becomes unstable in its first rounds. The digits' mlp bears more, which
// LossGuard::caution finds out.
inline constexpr double kDelayOfUnlikeData = 8;
// The drift ρ of most optimizers (OptimizerKind::drift), and what is added to ρ where data are
// unlike. Two steps a round then pay from an exchange of about fifteen gradients on: digits gain
// from there, the cnn loses before (docs/experiments.md, "Local steps of unlike data").
inline constexpr double kUsualDrift = 0.1, kDriftOfUnlikeData = 0.75;
// What is added to ρ where data are unlike and all messages have one size (even_bits.h), fitted to
// runs on a parameter server (docs/experiments.md, the same chapter). Two steps a round pay from an
// exchange of three gradients on without delay, and of five with D = 8. With two steps the cnn
// takes 1.08 times as long as with one where an exchange takes 2.5 gradients, and 0.90 times where
// it takes 5.4; digits take 0.7 times as long with 4.9.
inline constexpr double kDriftOfUnlikeDataOfEvenMessages = 0.5;
// The most local steps of such a mesh: with four the cnn takes 1.7 times as long as with one.
inline constexpr unsigned kLocalStepsMaxOfUnlikeDataOfEvenMessages = 2;
// The most local steps that a mesh chooses, of which more were not measured, and by how much their
// number changes at once: digits reach their target in 50 rounds where links are slow.
inline constexpr unsigned kLocalStepsMax = 16, kStepsFactorMax = 4;
// The smallest messages of a round count as long where they take longer than so many gradients.
// Those of the even cnn on a tree at 1 Mbit/s take 0.50 to 0.57.
inline constexpr double kLongMessages = 0.7;
// The most time that a round's gradients may take, as a multiple of that of the smallest messages,
// where data are alike and these messages are not long. Without this bound the even cnn at
// 1 Mbit/s took four steps a round with two seeds of eight on a ring and with all of eight on a
// tree, and up to 1.6 times as long as with one. With 4 it takes two steps there, and 1.18 times as
// long.
inline constexpr double kGradientsOverSmallest = 3;
// The same before the first offer, and the most local steps that a round has there: with up to
// eight digits at 1 Mbit/s take longer (docs/experiments.md).
inline constexpr double kFirstGradientsOverSmallest = 2;
inline constexpr unsigned kFirstStepsMax = 4;
// The local steps of the first rounds, and the fewest before the first offer where the movements of
// round 0 agree. Movements of two steps tell like data from unlike data more clearly than those of
// one: with digits the least cosine is 0.15 in place of 0.09 where data are even, and the largest
// stays at −0.22 by label. Four bring the latter to −0.11 (docs/experiments.md, "Steps of the first
// rounds").
inline constexpr unsigned kFirstSteps = 2;
// The least mean_cosine() of data that count as alike, and the largest of data that count as
// unlike. Movements of nodes whose data are alike share a direction and differ by noise that has
// none. Where data are unlike, what one node gains others lose, and what they bring opposes its own
// movement, however late it is. In the first rounds the mean cosine was 0.05 to 0.8 with even data,
// and −0.12 to −0.65 with classes split: digits and cnn, on nine pairs of a mesh and rates, with
// messages up to four rounds late (docs/experiments.md).
inline constexpr double kAlikeCosine = -0.02, kUnlikeCosine = -0.06;
// Where data are unlike, nodes that look ahead by their own movements take gradients at points
// apart, which ends all progress. They look ahead only where unlikeness() is less than this at the
// first offer, since movements of nodes that look ahead agree more than their data do, and as long
// as the median of the last offers is.
inline constexpr double kUnlikenessOfLookAhead = 0.5;
// Where data are unlike, an exchange gets shorter by no more than this factor at once, unless its
// messages would be late by no more than so many rounds. Curves are of messages with the residuals
// of the present exchange. Those of a much shorter one grow in the rounds after it, and with them
// the delay: from 0.5 to about 2, which is harmless. On fast links a mesh finds its exchange in 25
// rounds that way, in place of 36 (docs/experiments.md).
inline constexpr double kLeastFactorOfUnlikeData = kExchangeFactors[1];
inline constexpr double kShortDelayOfUnlikeData = 0.5;
// Where data are alike and messages pass several hops, each of which keeps a residual, the delay of
// a shorter exchange grows as well. With an exchange that is f times shorter, f to this power
// multiplies the delay that curves promise. On a graph at 10 Mbit/s curves of an exchange of 4 ms
// promised a delay of 9 rounds at 1.2 ms, and 30 came (docs/experiments.md, "Delays that grow";
// with an exponent of 1 the mesh makes the same choices).
inline constexpr double kGrowthOfDelay = 0.5;
// The exchange of the first kOfferEvery rounds. Where messages take one hop each way it is the
// longest gradient, and at least about the time in which a link of 10 Mbit/s carries the smallest
// first message (kFirstBytesMin). With four gradients in its place the even cnn takes 1.2 times as
// long at 100 Mbit/s and 1.4 times at 10 (docs/experiments.md). Where sums are passed on, it is
// four gradients: small messages of several hops hide that data are unlike.
inline constexpr double kFirstExchangeMin = 0.001;  // seconds
inline constexpr double kFirstExchangeOfHops = 4;   // gradients
// The longest exchange, as a multiple of that of dense messages. What goes beyond it is room for
// errors of the measured rates: without this room, messages would be coded for nothing.
inline constexpr double kRoomForDense = 1.5;
// Where the config gives the round time, messages may take this share of the longest gradient with
// overlap without making the round longer: the rest is room for gradients that are shorter than the
// median. The search may choose less: coding takes cores from the gradient.
inline constexpr double kExchangeBesideGradient = 0.9;
// The limits of an exchange, in seconds: no message takes less, and no round is worth more.
inline constexpr double kExchangeMin = 1e-4, kExchangeMax = 3600;

// What one node offers, or the sum of several nodes' offers.
struct ExchangeOffer {
  // Σ weight · (1/α' − 1) of messages, by factor of kExchangeFactors.
  std::array<double, kExchangeFactors.size()> delay{};
  double weight = 0;  // Σ weight: 1 for all reduces, and 1 for all gathers, of the mesh
  // Over the terms of owners' sums (Agreement in events/work.h): Σ ‖a‖ ‖b‖ (1 + cos(a, b)), and
  // Σ ‖a‖ ‖b‖.
  double agreement = 0, agreement_weight = 0;
  double least_s = 0;  // max: the shortest exchange that links' fixed costs allow
  // max: the exchange of dense messages, a longer one than which brings nothing. 0: not offered.
  double most_s = 0;
  // max: seconds of a core that a node's coder takes for the bytes of a round's messages. They are
  // missing in its gradient, where both go on at once.
  double coding_s = 0;
  // max: seconds that the messages of a round would take with kLeastEvenBits an element, at the
  // speed of the last round's messages. 0: not offered.
  double smallest_s = 0;
  void merge(const ExchangeOffer& other);
  bool operator==(const ExchangeOffer&) const = default;

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.delay, self.weight, self.agreement, self.agreement_weight, self.least_s,
                    self.most_s, self.coding_s, self.smallest_s);
  }
};

// A message that a node sends in every round.
struct OfferedMessage {
  // Of now, with the present round_time. Without a curve the message offers nothing.
  const MessageContext& context;
  double weight = 0;  // its part of all messages of its phase
};
// Requires a codec with the trait has_curves.
void add_to_offer(ExchangeOffer& offer, const OfferedMessage& message, const CodecPtr& usual);
// Adds only the shortest and the longest time of the message's link. It serves messages whose
// settings others choose.
void add_limits(ExchangeOffer& offer, const MessageContext& context);

// The last offers, each with the exchange that it was made with. One offer knows the curves of one
// round, whose residuals depend on chance: what was sent a round before may have left more or less.
class RecentOffers {
 public:
  // Requires an offer with a weight.
  void add(double exchange_s, const ExchangeOffer& offer);
  // The last offer, with delays that are means of the last kOffersOfAMean, each read at the
  // multiples of `exchange_s`, and 1 as its weight. Without offers: an empty one.
  [[nodiscard]] ExchangeOffer at(double exchange_s) const;

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.offers_, self.exchanges_s_, self.count_);
  }

 private:
  std::array<ExchangeOffer, kOffersOfAMean> offers_{};
  std::array<double, kOffersOfAMean> exchanges_s_{};
  std::uint32_t count_ = 0;  // of all offers; the last one is at (count_ - 1) % kOffersOfAMean
};

// The longest compared exchange, as a share of the present one and at most 1, whose messages are as
// small as those of the shortest. 0: those of the shortest are smaller than all others.
[[nodiscard]] double share_of_smallest(const ExchangeOffer& offers);

// D: by how many rounds messages are late with the present time of the exchange, a reduce and a
// gather together; and with the shortest that is compared. Without offers: 0.
[[nodiscard]] double present_delay(const ExchangeOffer& offers);
[[nodiscard]] double shortest_delay(const ExchangeOffer& offers);

// The mean cosine between what a node has to send and what others' messages bring, weighted by
// their lengths. Nothing: no owner has summed anything.
[[nodiscard]] std::optional<double> mean_cosine(const ExchangeOffer& offers);
// How unlike the data of nodes are by their mean cosine, from 0 to 1.
[[nodiscard]] double unlikeness(double mean_cosine);

// Where and when gradients are taken. The numbers are part of the wire format.
enum class Ahead : std::uint8_t {
  kNo = 0,       // at w, after the messages of the round before
  kLooks = 1,    // ahead of w, after them
  kOverlaps = 2  // ahead of w, beside them
};
// Its name in files: "no", "looks", "overlaps". Nothing: the name is unknown.
[[nodiscard]] std::string_view ahead_name(Ahead ahead);
[[nodiscard]] std::optional<Ahead> parse_ahead(std::string_view name);

// How long the messages of a round take, where its gradients are taken, and how many of them: every
// node takes so many local steps, or so many times its own number where nodes have one.
struct Pace {
  double exchange_s = 0;
  Ahead ahead = Ahead::kNo;
  unsigned local_steps = 1;
  double mean_multiple = 1;  // Verdict::mean_multiple, which the search leaves alone
  [[nodiscard]] bool overlaps() const { return ahead == Ahead::kOverlaps; }
  bool operator==(const Pace&) const = default;
};
// By how many seconds the gradients of a round get longer while the messages of an exchange are
// made and sent beside them.
struct OverlapStretch {
  double seconds = 0;     // 0: the messages' work has cores of its own
  double exchange_s = 0;  // over 0
};

// What the choice of a pace depends on, besides the offers.
struct PaceRules {
  double round_s = 0;    // what rounds take with the present pace; 0: not known
  double compute_s = 0;  // T_comp of a round with one local step
  double unlike = 0;     // unlikeness()
  Use look_ahead = Use::kNever, overlap = Use::kNever;
  std::optional<double> round_time_s{};  // where the config gives it, the exchange follows from it
  double caution = 1;                    // LossGuard::caution()
  unsigned local_steps_max = 1;
  // The least time of messages, however short the exchange; 0: not known.
  double floor_s = 0;
  double drift = kUsualDrift, overlap_cost = kOverlapCost;  // OptimizerKind's
  bool messages_are_even = false;
  bool smallest_are_long = false;           // ExchangeOffer::smallest_s is, by kLongMessages
  std::optional<OverlapStretch> stretch{};  // as measured; nothing: not yet
  // shortest_delay() of the last offer. The means of several reach no further than the exchanges of
  // those before.
  double shortest_delay = kExchangeMax;
  // Sums are passed on: kCostOfDelayOfSeveralHops counts, and where data are alike kGrowthOfDelay.
  bool has_several_hops = false;
};
// B of the formula above: the share of rounds that each round of delay adds where movements do not
// agree and messages are not even.
[[nodiscard]] double cost_of_delay(Ahead ahead, bool has_several_hops);
// Whether the two keys of a config let gradients be taken so.
[[nodiscard]] bool allows(Use look_ahead, Use overlap, Ahead ahead);
// The pace that is best for the next rounds. `offers` are those that were made with the present
// one. Without offers: the present one.
[[nodiscard]] Pace best_pace(const Pace& now, const PaceRules& rules, const ExchangeOffer& offers);

}  // namespace kimesh
