// Offers of known delays, for the tests of the search for a round time.
#pragma once

#include <algorithm>

#include "kimesh/policy/round_time_search.h"

namespace kimesh {

inline ExchangeOffer offer_of(double (*delay)(double factor)) {
  ExchangeOffer offer;
  offer.weight = 2;
  for (std::size_t f = 0; f < kExchangeFactors.size(); ++f)
    offer.delay[f] = delay(kExchangeFactors[f]);
  return offer;
}

// The offer where movements have this mean cosine.
inline ExchangeOffer agreeing(ExchangeOffer offers, double cosine) {
  offers.agreement_weight = 2;
  offers.agreement = offers.agreement_weight * (1 + cosine);
  return offers;
}

// The pace that the search comes to, one offer after another, where the smallest messages take
// `floor_s` and larger ones are late by `delay_s` over their exchange. Nodes with unlike data do
// not look ahead.
inline Pace settled(double compute_s, double floor_s, double delay_s, double unlike,
                    unsigned steps_max, double drift = kUsualDrift,
                    double overlap_cost = kOverlapCost) {
  const Use ahead = unlike > 0 ? Use::kNever : Use::kChosen;
  const PaceRules rules{0, compute_s, unlike,  ahead, ahead,       {},
                        1, steps_max, floor_s, drift, overlap_cost};
  Pace pace{floor_s, Ahead::kNo, 1};
  for (int offers = 0; offers < 20; ++offers) {
    ExchangeOffer offer;
    offer.weight = 2;
    for (std::size_t f = 0; f < kExchangeFactors.size(); ++f)
      offer.delay[f] = 2 * delay_s / std::max(pace.exchange_s * kExchangeFactors[f], floor_s);
    pace = best_pace(pace, rules, offer);
  }
  return pace;
}

}  // namespace kimesh
