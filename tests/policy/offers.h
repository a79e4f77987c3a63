// Offers of known delays, for the tests of the search for a round time.
#pragma once

#include "kimesh/policy/round_time_search.h"

namespace kimesh {

inline ExchangeOffer offer_of(double (*delay)(double factor)) {
  ExchangeOffer offer;
  offer.weight = 2;
  for (std::size_t f = 0; f < kExchangeFactors.size(); ++f)
    offer.delay[f] = delay(kExchangeFactors[f]);
  return offer;
}

}  // namespace kimesh
