// What messages offer the search for a round time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kimesh/policy/even_bits.h"
#include "kimesh/policy/round_time_search.h"
#include "tests/policy/curves.h"
#include "tests/policy/offers.h"
#include "tests/settings.h"

namespace kimesh::exchange_offer_test {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kSame = kExchangeFactors.size() / 2;

constexpr std::size_t kOfCurve = 10'000;  // elements

// The curve of elements 1, 1/2, 1/3 ...
Curve curve_of_few() {
  std::vector<float> values(kOfCurve);
  for (std::size_t j = 0; j < values.size(); ++j) values[j] = 1 / static_cast<float>(1 + j);
  const Piece piece{0, values.size()};
  return measure_curve(values, std::span(&piece, 1));
}

// A message with 2 ms for the exchange. `curve` outlives it.
MessageContext message_of(const Curve& curve, double bytes_per_s) {
  MessageContext message;
  message.elements = kOfCurve;
  message.curve = &curve;
  message.link = {bytes_per_s, 0.01, Duration{0}, false};
  message.compute_time = milliseconds(10);
  message.round_time = milliseconds(12);
  return message;
}

// Seen to fail with the present time for all factors.
TEST(ExchangeOffer, OffersWhatTheLinkCarriesInEachTime) {
  const Curve curve = curve_of_few();
  MessageContext message = message_of(curve, 1e6);  // 1 kB a message, a quarter of that up to 4 kB
  for (const char* codec : {"topk", "dzq"}) {
    ExchangeOffer offer;
    add_to_offer(offer, {message, 0.25}, make_codec(codec));
    EXPECT_DOUBLE_EQ(offer.weight, 0.25);
    EXPECT_TRUE(std::ranges::is_sorted(offer.delay, std::greater{})) << codec;
    EXPECT_GT(offer.delay.back(), 0) << codec;
    EXPECT_GT(offer.delay[kSame], 1.2 * offer.delay.back()) << codec;
    EXPECT_GT(offer.delay.front(), 1.2 * offer.delay[kSame]) << codec;
    EXPECT_LT(offer.delay.front(), 0.25) << codec << ": half of the energy is in few elements";
    EXPECT_GT(offer.least_s, 0);
    EXPECT_EQ(offer.coding_s, 0) << "nothing was timed";
    message.encode_s_per_byte = 1e-7;
    ExchangeOffer timed;
    add_to_offer(timed, {message, 0.25}, make_codec(codec));
    add_to_offer(timed, {message, 0.25}, make_codec(codec));
    EXPECT_NEAR(timed.coding_s, 2 * 1e-7 * 1000, 0.4e-4) << codec << ": of all messages";
    message.encode_s_per_byte = 0;
    message.limit_bytes = 300;
    ExchangeOffer limited;
    add_to_offer(limited, {message, 0.25}, make_codec(codec));
    EXPECT_GT(limited.delay[kSame], offer.delay[kSame]) << codec << ": another link's limit";
    message.limit_bytes = 0;
  }
  message.curve = nullptr;
  ExchangeOffer nothing;
  add_to_offer(nothing, {message, 0.25}, make_codec("dzq"));
  EXPECT_EQ(nothing.weight, 0) << "never measured";
}

// No coder makes dense messages. Seen to fail with the coder's time for all their bytes.
TEST(ExchangeOffer, OfDenseMessagesNeedsNoCoder) {
  const Curve curve = curve_of_few();
  MessageContext message = message_of(curve, 1e9);
  message.encode_s_per_byte = 1e-7;
  for (const double bits : {0.0, kBitsOfDense}) {
    message.even_bits = bits;
    ExchangeOffer offer;
    add_to_offer(offer, {message, 1}, make_codec(bits > 0 ? "dzq" : "topk"));
    EXPECT_EQ(offer.delay[kSame], 0) << bits << ": dense";
    EXPECT_EQ(offer.coding_s, 0) << bits;
  }
}

// Seen to fail with the bits of the present exchange for all.
TEST(ExchangeOffer, OfEvenMessagesHasBitsInProportionToTheExchange) {
  const Curve curve = curve_of_few();
  MessageContext message = message_of(curve, 0.1e6);
  message.even_bits = 0.08;
  ExchangeOffer offer;
  add_to_offer(offer, {message, 1}, make_codec("dzq"));
  EXPECT_TRUE(std::ranges::is_sorted(offer.delay, std::greater{}));
  EXPECT_GT(offer.delay.front(), 1.2 * offer.delay[kSame]);
  EXPECT_GT(offer.delay[kSame], 1.2 * offer.delay.back());
}

// A fast link whose rate is only a lower bound: nothing but its way is known to take time. An
// exchange that is shorter would stay so, since messages of the floor never fill a pipe. Seen to
// fail where such a link asked for no time.
TEST(ExchangeOffer, LeavesTimeForTheWayOfALinkThatIsNeverFull) {
  MessageContext message;
  message.elements = 100'000;
  message.link = {1e9, 0.5, milliseconds(50), true};
  message.hops = 2;
  message.compute_time = milliseconds(10);
  message.round_time = milliseconds(11);
  ExchangeOffer offer;
  add_to_offer(offer, {message, 1}, make_codec("dzq"));
  EXPECT_NEAR(offer.least_s, 0.1 + 0.011, 1e-9) << "and a tenth of gradient and way, for bytes";
}

// Budgets take a tenth of a long round for bytes, however short the exchange: there all factors
// offer alike. Seen to fail where the exchange could be shorter than that: it never grew.
TEST(ExchangeOffer, GrowsOverLongGradientsWithoutOverlap) {
  constexpr std::size_t kElements = 100'000;
  const Curve curve{exact_curve(std::vector<double>(kElements, 1.0))};
  MessageContext message;
  message.elements = kElements;
  message.curve = &curve;
  message.link = {250e3, 0.01, Duration{0}, false};
  message.compute_time = std::chrono::seconds(1);
  double exchange = 0.001;
  for (int round = 0; round < 20; ++round) {
    message.round_time = message.compute_time + from_seconds(exchange);
    ExchangeOffer offer;
    add_to_offer(offer, {message, 2}, make_codec("topk"));
    const double taken = std::max(exchange, kShareOfLongRound);  // by budgets, of the second
    const PaceRules rules{1 + taken, 1, 0, Use::kNever, Use::kNever, {}};
    exchange = best_pace({exchange, Ahead::kNo}, rules, offer).exchange_s;
  }
  EXPECT_GT(exchange, 0.2);
}

// Seen to fail with the last offer alone, and with delays that are not read at the new exchange.
TEST(RecentOffers, AreReadAtTheExchangeThatIsAskedFor) {
  RecentOffers recent;
  EXPECT_EQ(recent.at(0.1), ExchangeOffer{});
  const auto weighed = [](ExchangeOffer offer, double weight, double least_s) {
    for (double& delay : offer.delay) delay *= weight;
    offer.weight = weight;
    offer.least_s = least_s;
    return offer;
  };
  const ExchangeOffer curve = offer_of([](double factor) { return -std::log(factor); });
  recent.add(0.1, weighed(curve, 2, 0.01));
  recent.add(0.2, weighed(curve, 3, 0.02));
  const ExchangeOffer mean = recent.at(0.1);
  EXPECT_EQ(mean.weight, 1);
  EXPECT_EQ(mean.least_s, 0.02) << "limits are the last one's";
  EXPECT_NEAR(mean.delay[kSame], std::log(2) / 2, 1e-9);
  for (std::uint32_t o = 0; o < kOffersOfAMean; ++o) recent.add(0.1, weighed(curve, 1, 0));
  EXPECT_NEAR(recent.at(0.1).delay[kSame], 0, 1e-9) << "older ones are forgotten";
}

// Seen to fail where a dense message was given the delay of its curve.
TEST(ExchangeOffer, ADenseMessageIsNeverLate) {
  const Curve curve{exact_curve(std::vector<double>(1'000, 1.0))};
  MessageContext message;
  message.elements = 1'000;
  message.curve = &curve;
  message.link = {1e6, 0.01, Duration{0}, false};
  message.round_time = milliseconds(10);  // 5 kB for 4 kB
  ExchangeOffer offer;
  add_to_offer(offer, {message, 1}, make_codec("topk"));
  EXPECT_EQ(offer.delay[kSame], 0);
  EXPECT_GT(offer.delay[0], 0);
}

// Seen to fail where the present exchange alone counts.
TEST(ExchangeOffer, TellsTheLongestExchangeWhoseMessagesAreTheSmallest) {
  const auto share = [](const std::array<double, kExchangeFactors.size()>& delay) {
    ExchangeOffer offer;
    offer.delay = delay;
    offer.weight = 1;
    return share_of_smallest(offer);
  };
  EXPECT_EQ(share({9, 8, 7, 6, 5}), 0) << "messages of still shorter exchanges may be smaller";
  EXPECT_EQ(share({9, 9, 7, 6, 5}), kExchangeFactors[1]);
  EXPECT_EQ(share({9, 9, 8.9, 6, 5}), 1);
  EXPECT_EQ(share({9, 9, 9, 9, 9}), 1) << "no longer exchange was measured";
  EXPECT_EQ(share_of_smallest({}), 0) << "nobody offers anything";
}

}  // namespace
}  // namespace kimesh::exchange_offer_test
