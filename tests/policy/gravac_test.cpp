// GraVAC's search, driven by hand: what each round saw is written out, and so is what follows.
#include "kimesh/policy/gravac.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/policy/curves.h"
#include "tests/settings.h"

namespace kimesh {
namespace {

using std::chrono::milliseconds;
using Scaling = GravacOptions::Scaling;

constexpr std::uint32_t kElements = 100'000;
constexpr Round kWindow = 5;

// A message of one layer whose energy is 1, and of which `gain_of(kept)` arrives.
Curve curve_of(const std::vector<std::pair<double, double>>& gain_at_factor) {
  PieceCurve curve{kElements, {{0, 1}}};
  for (const auto& [factor, gain] : gain_at_factor)
    curve.points.push_back({kElements / factor, 1 - gain});
  curve.points.push_back({kElements, 0});
  return {curve};
}

// Everything keeps its gain up to the largest factor: 0.96 down to 0.92.
const Curve kGood = curve_of({{1000, 0.92}, {160, 0.93}, {40, 0.94}, {20, 0.95}, {10, 0.96}});

MessageObservation observation(const Curve& curve, Phase phase = Phase::kReduce) {
  return {0, phase, kElements, 1, 0.5, &curve};
}

GravacOptions options_with(Scaling scaling = Scaling::kExponential) {
  GravacOptions options;
  options.scaling = scaling;
  options.window = kWindow;
  return options;
}

// One window of rounds that all saw `curve`. `round_ms` may depend on the factor that was sent.
void window(GravacSearch& search, const Curve& curve, int round_ms = 100) {
  const MessageObservation message = observation(curve);
  for (Round r = 0; r < kWindow; ++r)
    search.observe(milliseconds(round_ms), std::span(&message, 1));
}

std::vector<double> trace(GravacSearch& search, const Curve& curve, std::size_t windows) {
  std::vector<double> factors;
  for (std::size_t w = 0; w < windows; ++w) {
    factors.push_back(search.factor());
    window(search, curve);
  }
  return factors;
}

// theta_min = 10, theta_max = 1000, and gains that stay above epsilon = 0.9:
//   window 1: nothing is tried yet, theta_s = 1                      10
//   window 2: theta_s = 2 of the first theta_min                     10 · 2   = 20
//   window 3: theta_s = 2² = 4                                       10 · 4   = 40
//   window 4: theta_s = 2⁴ = 16                                      10 · 16  = 160
//   window 5: theta_s = 2⁸ = 256 would be 2560, and theta_max is     1000
TEST(Gravac, TriesTheFactorsOfThePaperOneWindowEach) {
  GravacSearch search(options_with(), 4);
  EXPECT_EQ(trace(search, kGood, 5), (std::vector<double>{10, 20, 40, 160, 1000}));
}

// With omega = 2 %: 0.96 and 0.95 differ by 1.04 %, so theta_min becomes 20 after window 2, and 40
// after window 3 (0.95, 0.94), and so on: the factors that are tried stay the same.
// Seen to fail when a step was scaled from a theta_min that had been raised.
TEST(Gravac, TriesTheSameFactorsWhileThetaMinRises) {
  GravacOptions options = options_with();
  options.omega = 0.02;
  GravacSearch search(options, 4);
  std::vector<double> factors, theta_min, theta_s;
  for (int w = 0; w < 5; ++w) {
    factors.push_back(search.factor());
    theta_min.push_back(search.theta_min());
    theta_s.push_back(search.theta_s());
    window(search, kGood);
  }
  EXPECT_EQ(factors, (std::vector<double>{10, 20, 40, 160, 1000}));
  EXPECT_EQ(theta_min, (std::vector<double>{10, 10, 20, 40, 160}));
  EXPECT_EQ(theta_s, (std::vector<double>{1, 2, 2, 4, 6.25}));
}

TEST(Gravac, DoublesWhenItScalesGeometrically) {
  GravacSearch search(options_with(Scaling::kGeometric), 4);
  EXPECT_EQ(trace(search, curve_of({{1000, 0.95}}), 8),
            (std::vector<double>{10, 20, 40, 80, 160, 320, 640, 1000}));
}

// 0.95 at 20, 0.5 at 40 and beyond: 40, 160 and 1000 are tried in name only, theta_min is sent.
// Seen to fail when the factor that is tried was sent whatever its gain.
TEST(Gravac, FallsBackToThetaMinWhereTheTriedFactorLosesTooMuch) {
  GravacOptions options = options_with();
  options.omega = 0.005;
  GravacSearch search(options, 4);
  const Curve curve = curve_of({{1000, 0.2}, {40, 0.5}, {20, 0.95}, {10, 0.98}});
  EXPECT_EQ(trace(search, curve, 5), (std::vector<double>{10, 20, 10, 10, 10}));
  EXPECT_EQ(search.theta_min(), 10);
}

// After dense rounds nothing is known of gains: seen to stay dense for ever without the restart.
TEST(Gravac, SendsAllWhereEvenThetaMinLosesTooMuchAndStartsAgainAfterTheWindow) {
  GravacSearch search(options_with(), 4);
  const Curve bad = curve_of({{1000, 0.1}, {10, 0.6}});
  const MessageObservation measured = observation(bad);
  EXPECT_EQ(search.factor(), 10) << "nothing is known yet";
  search.observe(milliseconds(100), std::span(&measured, 1));
  const MessageObservation dense{0, Phase::kReduce, kElements, 1, 0, nullptr};
  for (Round r = 1; r < kWindow; ++r) {
    EXPECT_EQ(search.factor(), 1);
    search.observe(milliseconds(100), std::span(&dense, 1));
  }
  EXPECT_EQ(search.factor(), 10);
  EXPECT_EQ(search.steps()[0].gain, std::nullopt);
  EXPECT_EQ(trace(search, kGood, 3), (std::vector<double>{10, 20, 40}));
}

// Rounds per second times gain: 10 · 0.96, 12.5 · 0.95, 20 · 0.94, 19 · 0.93, 20.2 · 0.92: 40 wins.
TEST(Gravac, SelectsTheFactorWithTheHighestThroughputTimesGain) {
  GravacSearch search(options_with(), 4);
  for (const int round_ms : {100, 80, 50, 53, 50}) window(search, kGood, round_ms);
  EXPECT_TRUE(search.selected());
  EXPECT_EQ(search.factor(), 40);
  // Rounds at 40 become slow: at a later window 160 is better. One in four of 100 rounds weighs
  // little, so it takes a few.
  for (int w = 0; w < 20; ++w) window(search, kGood, 100);
  EXPECT_NE(search.factor(), 40);
}

// 10 · 0.96 = 9.6 and 10.1 · 0.95 = 9.595, 10.2 · 0.94 = 9.59, 10.3 · .93 = 9.58: all within 1 %.
// Seen to fail when the highest product won however near the others were.
TEST(Gravac, SelectsTheLowestOfNearlyEqualFactors) {
  GravacSearch search(options_with(), 4);
  window(search, kGood, 100);
  window(search, kGood, 98);
  window(search, kGood, 97);
  window(search, kGood, 97);
  window(search, kGood, 120);
  EXPECT_TRUE(search.selected());
  EXPECT_EQ(search.factor(), 10);
}

TEST(Gravac, SelectsOnlyAmongFactorsThatKeepEpsilonAndSentARound) {
  GravacSearch search(options_with(), 4);
  const Curve curve = curve_of({{1000, 0.2}, {40, 0.5}, {20, 0.95}, {10, 0.98}});
  for (const int round_ms : {100, 50, 40, 40, 40}) window(search, curve, round_ms);
  EXPECT_TRUE(search.selected());
  EXPECT_EQ(search.factor(), 20);
  EXPECT_EQ(search.steps()[4].round_s, std::nullopt);
}

// A round's gain weighs N/100, here 4 %, from the second round on.
TEST(Gravac, SmoothsGainsByTheNumberOfNodes) {
  for (const auto& [nodes, weight] :
       {std::pair(4u, 0.04), std::pair(1u, 0.01), std::pair(16u, 0.16), std::pair(500u, 0.3)}) {
    GravacSearch search(options_with(), nodes);
    const Curve first = curve_of({{10, 0.9}}), second = curve_of({{10, 0.8}});
    for (const Curve* curve : {&first, &second}) {
      const MessageObservation message = observation(*curve);
      search.observe(milliseconds(1), std::span(&message, 1));
    }
    EXPECT_NEAR(search.steps()[0].gain.value(), 0.9 - weight * 0.1, 1e-12) << nodes;
  }
}

// Parameters have a thousand times the energy of gradients, and gathers lose next to nothing of it.
// Seen to fail when reduces and gathers were summed.
TEST(GravacGain, IsThatOfThePhaseThatLosesMore) {
  const Curve reduce = curve_of({{10, 0.7}});
  Curve gather = curve_of({{10, 0.99}});
  std::vector<MessageObservation> messages{observation(reduce),
                                           observation(gather, Phase::kGather)};
  messages[1].wanted_energy = 1000;
  EXPECT_NEAR(gain_at(10, messages).value(), 0.7, 1e-12);
  EXPECT_NEAR(gain_at(10, std::span(messages).subspan(1)).value(), 1 - 0.01 / 1000, 1e-12);
}

TEST(GravacGain, CountsTheFloorAndWhatIsSentDenseAndSurvivesZerosAndNans) {
  const Curve curve = curve_of({{1000, 0.5}, {10, 0.7}});
  std::vector<MessageObservation> messages{observation(curve)};
  EXPECT_NEAR(gain_at(1e9, messages).value(), 0.5, 1e-12) << "the floor, a thousandth";
  EXPECT_EQ(gain_at(2, messages), 1) << "half of it costs as much as all";
  messages[0].wanted_energy = 0;
  EXPECT_EQ(gain_at(10, messages), 1);
  messages[0].wanted_energy = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(gain_at(10, messages), std::nullopt);
  const Curve zeros{{kElements, {{0, 0}}}};
  messages = {observation(zeros)};
  EXPECT_EQ(gain_at(10, messages), 1);
  EXPECT_EQ(gain_at(10, {}), std::nullopt);
}

GravacOptions gravac(GravacOptions::Scope scope) {
  GravacOptions options = options_with();
  options.scope = scope;
  return options;
}

std::unique_ptr<Policy> make_policy(const GravacOptions& options) {
  return make_gravac(options, {nullptr, make_codec("topk")});
}

MessageContext message_on(unsigned link) {
  MessageContext message;
  message.elements = kElements;
  message.round = 3;
  message.link_number = link;
  return message;
}

// Link 0 keeps its gain, link 1 does not. Seen to fail with one search for all links.
TEST(Gravac, SearchesForEachLinkOnItsOwnWhenToldSo) {
  const Curve bad = curve_of({{1000, 0.1}, {20, 0.5}, {10, 0.95}});
  std::vector<MessageObservation> messages{observation(kGood), observation(bad)};
  messages[1].link_number = 1;
  for (const auto scope : {GravacOptions::Scope::kNode, GravacOptions::Scope::kLink}) {
    const auto policy = make_policy(gravac(scope));
    EXPECT_TRUE(policy->wants_curves());
    EXPECT_EQ(policy->choose(message_on(0)).setting, topk_setting(10'000, 3));
    for (Round r = 0; r < kWindow; ++r) policy->observe({r, milliseconds(100), messages});
    const bool own = scope == GravacOptions::Scope::kLink;
    EXPECT_EQ(policy->choose(message_on(0)).setting.budget.elements(), own ? 5'000u : 10'000u);
    EXPECT_EQ(policy->choose(message_on(1)).setting.budget.elements(), 10'000u);
    EXPECT_EQ(policy->choose(message_on(7)).setting.budget.elements(), 10'000u) << "never seen";
    EXPECT_EQ(policy->choose(message_on(0)).budget_bytes, 0u);
  }
}

TEST(Gravac, NeverSendsLessThanTheFloorAndDenseWhereThatIsNoMore) {
  GravacOptions options = gravac(GravacOptions::Scope::kNode);
  options.theta_min = 5'000;
  options.theta_max = 6'000;
  EXPECT_EQ(make_policy(options)->choose(message_on(0)).setting.budget.elements(), 100u);
  options.theta_min = 2;
  EXPECT_TRUE(make_policy(options)->choose(message_on(0)).setting.budget.is_dense());
  MessageContext empty = message_on(0);
  empty.elements = 0;
  EXPECT_TRUE(make_policy(options)->choose(empty).setting.budget.is_dense());
}

TEST(Gravac, TellsItsStateAsAnObject) {
  GravacOptions options = options_with();
  options.theta_max = 20;
  GravacSearch search(options, 4);
  const MessageObservation message = observation(kGood);
  search.observe(milliseconds(50), std::span(&message, 1));
  EXPECT_EQ(search.state(), R"({"theta_min":10,"theta_s":1,"factor":10,"selected":false,"steps":[)"
                            R"({"theta":10,"gain":0.96,"rounds_per_s":20},)"
                            R"({"theta":20,"gain":0.95,"rounds_per_s":null}]})");
  EXPECT_EQ(make_policy(gravac(GravacOptions::Scope::kLink))->state(),
            R"({"scope":"link","searches":[]})");
  EXPECT_EQ(kimesh::make_policy({})->state(), "");
}

}  // namespace
}  // namespace kimesh
