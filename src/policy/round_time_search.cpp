#include "kimesh/policy/round_time_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "coding.h"
#include "kimesh/policy/even_bits.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr double kPhases = 2;  // reduce and gather
constexpr std::size_t kPresent = kExchangeFactors.size() / 2;
static_assert(kExchangeFactors[kPresent] == 1);

constexpr std::array<std::string_view, 3> kAheadNames{"no", "looks", "overlaps"};

// The least share of a gradient's time beside messages that it takes without them: none was seen to
// take four times as long.
constexpr double kLeastAlone = 0.25;

// A change that promises less than this is noise of the curves.
constexpr double kLeastProgress = 1.01;

// An offer's delay with `factor` times its exchange, interpolated in the logarithm.
double delay_at(const ExchangeOffer& offer, double factor) {
  const auto& factors = kExchangeFactors;
  std::size_t above = 1;
  while (above + 1 < factors.size() && factors[above] < factor) ++above;
  const double low = offer.delay[above - 1], high = offer.delay[above];
  const double share =
      std::log(factor / factors[above - 1]) / std::log(factors[above] / factors[above - 1]);
  return std::lerp(low, high, std::clamp(share, 0.0, 1.0));
}

// Compares paces by their seconds per unit of progress: that of one round without delay.
class Search {
 public:
  // `agreement`: c of the formula, which is 0 where the search is to leave it out.
  Search(const Pace& now, const PaceRules& rules, const ExchangeOffer& offers, double agreement)
      : now_(now), rules_(rules), offers_(offers), agreement_(agreement), present_(feasible(now)) {
    if (rules.round_s > 0) compare_with_plan(rules.round_s);
  }

  [[nodiscard]] const Pace& present() const { return present_; }
  // The pace with the nearest exchange that links allow, or with the one that follows from the
  // config's round time.
  [[nodiscard]] Pace feasible(const Pace& pace) const {
    double exchange_s =
        std::max(std::min(pace.exchange_s, kRoomForDense * dense_s_), least_exchange_s());
    if (rules_.round_time_s && pace.overlaps())
      exchange_s = std::max(*rules_.round_time_s, kExchangeBesideGradient * compute_s(pace));
    else if (rules_.round_time_s)
      exchange_s = *rules_.round_time_s - compute_s(pace);
    return {std::clamp(exchange_s, kExchangeMin, kExchangeMax), pace.ahead, pace.local_steps};
  }
  [[nodiscard]] double seconds(const Pace& pace) const {
    const double late = delay(pace.exchange_s);
    const double disagreement = late / kDelayOfUnlikeData;
    const double steps = pace.local_steps;
    const double of_unlike_data =
        rules_.messages_are_even ? kDriftOfUnlikeDataOfEvenMessages : kDriftOfUnlikeData;
    const double drift = rules_.drift + rules_.unlike * of_unlike_data;
    // The rounds that these steps need without delay, over those that one step needs.
    const double share_of_rounds = (1 + drift * (steps - 1)) / steps;
    // Delay and overlap cost so many rounds whatever the number of steps is, or, where the smallest
    // messages are long, in proportion to the rounds that the steps need.
    const double of_steps = rules_.smallest_are_long ? share_of_rounds : 1;
    const double of_even =
        rules_.messages_are_even && pace.ahead != Ahead::kNo ? kCostOfDelayOfEvenMessages : 1;
    const double of_delay =
        cost_of_delay(pace.ahead, rules_.has_several_hops) + kCostOfDelayOfAgreement * agreement_;
    const double of_noise = of_steps * of_even * of_delay * late;
    const double of_disagreement = rules_.unlike * share_of_rounds * disagreement * disagreement;
    const double staleness = pace.overlaps() ? of_steps * (rules_.overlap_cost - 1) : 0;
    const double without_delay = share_of_rounds + staleness;
    const double rounds =
        without_delay + std::max(rules_.caution, 1.0) * of_noise + rules_.caution * of_disagreement;
    return rounds * (planned_s(pace) + extra_s_);
  }

 private:
  // Compares the measured round with its plan. A longer round has a cost that every pace has. In a
  // shorter round messages fill only a part of their exchange, as the first messages do, whose
  // sizes are limited.
  void compare_with_plan(double round_s) {
    const double messages_s = present_.overlaps() ? round_s : round_s - alone_s(present_);
    filled_part_ = std::clamp(messages_s / full_s(present_), 0.0, 1.0);
    extra_s_ = std::max(round_s - planned_s(present_), 0.0);
  }
  [[nodiscard]] double planned_s(const Pace& pace) const {
    const double messages_s = messages_s_of(pace);
    return pace.overlaps() ? std::max(beside_s(pace), messages_s) : alone_s(pace) + messages_s;
  }
  // The time of the messages of a round. They fill the same part of a shorter exchange. Of a longer
  // exchange what exceeds the present one counts in full, because sizes are not limited for long.
  [[nodiscard]] double messages_s_of(const Pace& pace) const {
    const double full = full_s(pace), present = full_s(present_);
    const double filled = filled_part_ * std::min(full, present) + std::max(full - present, 0.0);
    return std::max(filled, rules_.floor_s);
  }
  // The shortest exchange that links allow. The last rounds had messages, so that it is no longer
  // than what they took.
  [[nodiscard]] double least_exchange_s() const {
    const double gradient_s = now_.overlaps() ? 0 : compute_s(now_);
    return rules_.round_s > 0
               ? std::min(offers_.least_s, std::max(rules_.round_s - gradient_s, 0.0))
               : offers_.least_s;
  }
  // The time of a round's gradients.
  [[nodiscard]] double compute_s(const Pace& pace) const {
    return rules_.compute_s * pace.local_steps;
  }
  // The time of the gradients without messages beside them. A time that was measured beside
  // messages includes what these cost.
  [[nodiscard]] double alone_s(const Pace& pace) const {
    if (!now_.overlaps()) return compute_s(pace);
    return (compute_s(now_) - stretch_s(now_)) * pace.local_steps / now_.local_steps;
  }
  // The time of the gradients with messages beside them.
  [[nodiscard]] double beside_s(const Pace& pace) const {
    const double stretch = stretch_s(pace);
    return alone_s(pace) + (now_.overlaps() ? stretch : std::max(stretch, coding_s(pace)));
  }
  // By how much gradients get longer beside messages: as unbounded_stretch_s() has it, but so that
  // the present gradients, which with overlap were measured beside messages, keep kLeastAlone of
  // their time without them.
  [[nodiscard]] double stretch_s(const Pace& pace) const {
    const double stretch = unbounded_stretch_s(pace);
    if (!now_.overlaps()) return stretch;
    const double present = unbounded_stretch_s(now_), most = (1 - kLeastAlone) * compute_s(now_);
    return present > most ? stretch * most / present : stretch;
  }
  // The coder's time where nothing was measured. Of what was measured a part grows with the bytes,
  // and a part with the number of messages alone, so that the root of the exchange counts: the
  // transformer's gradients got 58 ms longer with 1.1 MB a round, and 90 with 3.7.
  [[nodiscard]] double unbounded_stretch_s(const Pace& pace) const {
    const auto& measured = rules_.stretch;
    if (!measured) return coding_s(pace);
    return measured->seconds * std::sqrt(pace.exchange_s / measured->exchange_s);
  }
  // The coder's time. With one codec it is about proportional to the bytes, and these to the
  // exchange.
  [[nodiscard]] double coding_s(const Pace& pace) const {
    const double filled_s = std::min(pace.exchange_s, dense_s_);
    return now_.exchange_s > 0 ? offers_.coding_s * filled_s / now_.exchange_s : 0;
  }
  // The time of messages that fill their exchange: no more than dense ones take, and no less than
  // the smallest do.
  [[nodiscard]] double full_s(const Pace& pace) const {
    return std::max(std::min(pace.exchange_s, dense_s_), rules_.floor_s);
  }
  // The delay D of reduces and gathers together. It grows after an exchange has become shorter.
  [[nodiscard]] double delay(double exchange_s) const {
    const double factor = now_.exchange_s > 0 ? exchange_s / now_.exchange_s : 1;
    const bool grows = rules_.has_several_hops && rules_.unlike < kUnlikenessOfLookAhead;
    const double growth = grows ? std::pow(std::max(1 / factor, 1.0), kGrowthOfDelay) : 1;
    return growth * kPhases * delay_at(offers_, factor) / offers_.weight;
  }

  const Pace& now_;
  const PaceRules& rules_;
  const ExchangeOffer& offers_;
  const double agreement_;
  const double dense_s_ = offers_.most_s > 0 ? offers_.most_s : kExchangeMax;
  const Pace present_;
  // The part of full_s() that present messages take; with overlap an upper bound.
  double filled_part_ = 1;
  double extra_s_ = 0;  // by how much present rounds exceed their plan
};

}  // namespace

void ExchangeOffer::merge(const ExchangeOffer& other) {
  for (std::size_t f = 0; f < delay.size(); ++f) delay[f] += other.delay[f];
  weight += other.weight;
  agreement += other.agreement;
  agreement_weight += other.agreement_weight;
  least_s = std::max(least_s, other.least_s);
  most_s = std::max(most_s, other.most_s);
  coding_s = std::max(coding_s, other.coding_s);
  smallest_s = std::max(smallest_s, other.smallest_s);
}

void add_limits(ExchangeOffer& offer, const MessageContext& context) {
  // A shorter exchange would be no shorter: budgets take that share of what a round lasts anyway.
  // What floors take at this rate is left out. Where links share an interface, small messages that
  // wait for large ones seem to need ten times as long, and larger ones would follow from that.
  const double least_s = (1 + kShareOfLongRound) * to_seconds(time_without_bytes(context));
  const auto dense = dense_round_time(context);
  const double most_s = dense ? to_seconds(*dense - context.compute_time) : kExchangeMax;
  offer.least_s = std::max(offer.least_s, least_s - to_seconds(context.compute_time));
  offer.most_s = std::max(offer.most_s, std::min(most_s, kExchangeMax));
}

void add_to_offer(ExchangeOffer& offer, const OfferedMessage& message, const CodecPtr& usual) {
  add_limits(offer, message.context);
  const MessageContext& now = message.context;
  if (now.curve == nullptr) return;
  const double whole = energy_of(*now.curve);
  const double exchange_s = std::max(to_seconds(now.round_time - now.compute_time), kExchangeMin);
  std::vector<MessageContext> others(kExchangeFactors.size(), now);
  for (std::size_t f = 0; f < others.size(); ++f) {
    // The limit of a shared gather is about proportional to the exchange. A limit of 0 is none.
    if (now.limit_bytes > 0)
      others[f].limit_bytes =
          1 + static_cast<std::size_t>(kExchangeFactors[f] * static_cast<double>(now.limit_bytes));
    others[f].round_time = now.compute_time + from_seconds(kExchangeFactors[f] * exchange_s);
  }
  // Even messages take an exchange that is about proportional to their bits.
  for (std::size_t f = 0; f < others.size(); ++f)
    others[f].even_bits = std::min(kExchangeFactors[f] * now.even_bits, kBitsOfDense);
  std::vector<Coding> codings = codings_of(others, usual);
  predict_missing(codings, now);
  const Coding& present = codings[kPresent];
  const bool is_coded = present.codec == usual && present.payload_bytes < dense_bytes(now.elements);
  if (is_coded)
    offer.coding_s += now.encode_s_per_byte * static_cast<double>(present.payload_bytes);
  for (std::size_t f = 0; f < codings.size(); ++f)
    if (whole > 0 && codings[f].payload_bytes < dense_bytes(now.elements))
      offer.delay[f] += message.weight * delay_of(*codings[f].missing, whole);
  offer.weight += message.weight;
}

void RecentOffers::add(double exchange_s, const ExchangeOffer& offer) {
  KIMESH_CHECK(offer.weight > 0 && exchange_s > 0, "an offer that somebody made");
  offers_[count_ % kOffersOfAMean] = offer;
  exchanges_s_[count_++ % kOffersOfAMean] = exchange_s;
}

ExchangeOffer RecentOffers::at(double exchange_s) const {
  if (count_ == 0) return {};
  ExchangeOffer mean = offers_[(count_ - 1) % kOffersOfAMean];
  mean.delay = {};
  mean.weight = 1;
  const std::uint32_t kept = std::min(count_, kOffersOfAMean);
  for (std::uint32_t o = 0; o < kept; ++o)
    for (std::size_t f = 0; f < kExchangeFactors.size(); ++f) {
      const double factor = kExchangeFactors[f] * exchange_s / exchanges_s_[o];
      mean.delay[f] += delay_at(offers_[o], factor) / (offers_[o].weight * kept);
    }
  return mean;
}

double share_of_smallest(const ExchangeOffer& offers) {
  constexpr double kNoise = 1.02;
  for (std::size_t f = kPresent; offers.weight > 0 && f > 0; --f)
    if (offers.delay.front() <= kNoise * offers.delay[f]) return kExchangeFactors[f];
  return 0;
}

double present_delay(const ExchangeOffer& offers) {
  return offers.weight > 0 ? kPhases * offers.delay[kPresent] / offers.weight : 0;
}

double shortest_delay(const ExchangeOffer& offers) {
  return offers.weight > 0 ? kPhases * offers.delay.front() / offers.weight : 0;
}

std::optional<double> mean_cosine(const ExchangeOffer& offers) {
  if (!(offers.agreement_weight > 0)) return std::nullopt;
  return offers.agreement / offers.agreement_weight - 1;
}

double unlikeness(double mean_cosine) {
  return std::clamp((mean_cosine - kAlikeCosine) / (kUnlikeCosine - kAlikeCosine), 0.0, 1.0);
}

std::string_view ahead_name(Ahead ahead) {
  return kAheadNames[static_cast<std::size_t>(ahead)];
}

std::optional<Ahead> parse_ahead(std::string_view name) {
  const auto found = std::ranges::find(kAheadNames, name);
  if (found == kAheadNames.end()) return std::nullopt;
  return static_cast<Ahead>(found - kAheadNames.begin());
}

double cost_of_delay(Ahead ahead, bool has_several_hops) {
  const double factor = has_several_hops && ahead != Ahead::kNo ? kCostOfDelayOfSeveralHops : 1;
  return factor * kCostOfDelay[static_cast<std::size_t>(ahead)];
}

bool allows(Use look_ahead, Use overlap, Ahead ahead) {
  const auto suits = [](Use use, bool does) {
    return use == Use::kChosen || does == (use == Use::kAlways);
  };
  return suits(look_ahead, ahead != Ahead::kNo) && suits(overlap, ahead == Ahead::kOverlaps);
}

namespace {

// The present number of local steps, or the most that the rules allow, and those up to
// kStepsFactorMax times larger or smaller, by powers of two: closer numbers hardly differ.
std::vector<unsigned> numbers_of_steps(const Pace& now, const PaceRules& rules) {
  const unsigned steps = std::min(now.local_steps, rules.local_steps_max);
  std::vector<unsigned> numbers{steps};
  for (unsigned factor = 2; factor <= kStepsFactorMax; factor *= 2) {
    if (steps >= factor) numbers.push_back(steps / factor);
    if (factor * steps <= rules.local_steps_max) numbers.push_back(factor * steps);
  }
  return numbers;
}

// Whether `pace` is better than `best`. If both take as long, the longer exchange is better,
// because its messages bring more: all exchanges shorter than a gradient may take as long.
bool is_better(const Search& search, const Pace& pace, const Pace& best) {
  constexpr double kAlike = 1e-9;
  const double ratio = search.seconds(pace) / search.seconds(best);
  return ratio < 1 - kAlike || (ratio < 1 + kAlike && pace.exchange_s > best.exchange_s);
}

bool is_worth_it(const Search& search, const Pace& pace) {
  return search.seconds(pace) * kLeastProgress < search.seconds(search.present());
}

// The best pace with one of these numbers of local steps, the first of which is the present one, if
// it is among them.
Pace best_pace_of(std::span<const unsigned> numbers, const Search& search, const Pace& now,
                  const PaceRules& rules) {
  const Pace& present = search.present();
  const bool may_stay =
      allows(rules.look_ahead, rules.overlap, now.ahead) && numbers.front() == now.local_steps;
  std::optional<Pace> best;
  if (may_stay) best = present;
  for (const Ahead ahead : {Ahead::kNo, Ahead::kLooks, Ahead::kOverlaps}) {
    if (!allows(rules.look_ahead, rules.overlap, ahead)) continue;
    for (const unsigned steps : numbers)
      for (const double factor : kExchangeFactors) {
        // The size of even messages does not follow from the exchange.
        if (rules.messages_are_even && factor != 1) continue;
        const Pace pace = search.feasible({factor * now.exchange_s, ahead, steps});
        if (rules.unlike >= kUnlikenessOfLookAhead && factor < kLeastFactorOfUnlikeData &&
            rules.shortest_delay > kShortDelayOfUnlikeData)
          continue;
        if (!best || is_better(search, pace, *best)) best = pace;
      }
  }
  KIMESH_CHECK(best.has_value(), "keys that allow a way to take gradients");
  return may_stay && !is_worth_it(search, *best) ? present : *best;
}

}  // namespace

Pace best_pace(const Pace& now, const PaceRules& rules, const ExchangeOffer& offers) {
  const double agreement = std::max(mean_cosine(offers).value_or(0), 0.0);
  const Search search(now, rules, offers, agreement);
  if (!(offers.weight > 0)) return search.present();
  const std::vector<unsigned> numbers = numbers_of_steps(now, rules);
  const Search of_noise(now, rules, offers, rules.smallest_are_long ? agreement : 0);
  const unsigned steps = best_pace_of(numbers, of_noise, now, rules).local_steps;
  const Pace best = best_pace_of(std::array{steps}, search, now, rules);
  // Another number must be worth it by both costs. Else two paces, each the better one by a cost of
  // its own, would alternate.
  if (numbers.front() != now.local_steps || steps == now.local_steps || is_worth_it(search, best))
    return best;
  return best_pace_of(std::array{now.local_steps}, search, now, rules);
}

}  // namespace kimesh
