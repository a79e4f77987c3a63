#include "kimesh/policy/kimad_plus.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>

#include "kimesh/compress/codecs.h"
#include "kimesh/policy/policy_options.h"
#include "src/policy/message_size.h"
#include "tests/policy/curves.h"

namespace kimesh::kimad_plus_test {
namespace {

using std::chrono::milliseconds;
constexpr auto kThreshold = "threshold", kKnapsack = "knapsack";

constexpr Duration kRoundTime = milliseconds(20);

std::unique_ptr<Policy> kimad_plus(const char* allocator) {
  return make_policy(
      {policy_options("kimad_plus", {{"allocator", allocator}}), make_codec("topk"), kRoundTime});
}

std::unique_ptr<Policy> kimad() {
  return make_policy({policy_options("kimad"), make_codec("topk"), kRoundTime});
}

// What a link carries in a phase: messages of several layers. 1 MB/s surely known, 2 slots: with
// 20 ms a budget of 10 kB.
struct Messages {
  std::vector<Curve> curves;
  std::vector<std::size_t> elements;
  std::vector<const Curve*> views;
  MessageContext context;

  Messages() {
    context.round = 7;
    context.round_time = kRoundTime;
    context.link = {1e6, 0.01, Duration{0}, false};
  }
  void add(const Curve& curve) {
    curves.push_back(curve);
    elements.push_back(0);
    for (const PieceCurve& piece : curve) elements.back() += piece.size;
  }
  MessageContext of(std::size_t own) {
    views.clear();
    for (const Curve& curve : curves) views.push_back(&curve);
    MessageContext message = context;
    message.own = own;
    message.curves = views;
    message.elements = elements[own];
    return message;
  }
};

Messages like_each_other(std::size_t count, std::size_t layers, std::size_t size) {
  Messages messages;
  Random random(1, 0, 0, Purpose::kTest);
  Curve curve;
  for (std::size_t l = 0; l < layers; ++l) curve.push_back(random_curve(size, 1, random));
  for (std::size_t m = 0; m < count; ++m) messages.add(curve);
  return messages;
}

// To a bin of the curves, whose elements are given to the first that has such a bin.
TEST(KimadPlus, GivesMessagesThatAreLikeEachOtherAboutWhatKimadGives) {
  Messages messages = like_each_other(3, 4, 5'000);
  for (std::size_t m = 0; m < 3; ++m) {
    const Choice plus = kimad_plus(kThreshold)->choose(messages.of(m));
    const Choice plain = kimad()->choose(messages.of(m));
    EXPECT_NEAR(plus.setting.budget.elements(), plain.setting.budget.elements(),
                0.1 * plain.setting.budget.elements());
    EXPECT_EQ(plus.setting.allocation, Allocation::kGlobal);
    EXPECT_EQ(plus.setting.floor, 20u);
    EXPECT_EQ(plus.setting.rotation, 7u);
  }
}

// Seen to fail when every message had one budget.
TEST(KimadPlus, TakesFromAMessageThatHasLittleToSayForOneThatHasMuch) {
  Messages messages = like_each_other(2, 4, 5'000);
  for (PieceCurve& piece : messages.curves[0])
    for (CurvePoint& point : piece.points) point.missing_energy *= 1e-6;
  const auto policy = kimad_plus(kThreshold);
  const Choice small = policy->choose(messages.of(0)), large = policy->choose(messages.of(1));
  EXPECT_EQ(small.setting.budget.elements(), 20u) << "the floor";
  EXPECT_NEAR(large.setting.budget.elements(), 2'500 - 20, 1);
  EXPECT_LE(small.budget_bytes + large.budget_bytes, 20'000u);
}

// Seen to fail when the first took all that its threshold gave it.
TEST(KimadPlus, SpendsNoMoreOnAMessageThanAllOfItCosts) {
  Messages messages = like_each_other(1, 1, 1'000);
  Random random(2, 0, 0, Purpose::kTest);
  messages.add({random_curve(20'000, 1e-3, random)});
  const auto policy = kimad_plus(kThreshold);
  EXPECT_EQ(policy->choose(messages.of(0)).setting.budget.is_dense(), true);
  EXPECT_EQ(policy->choose(messages.of(0)).budget_bytes, 4'000u);
  EXPECT_NEAR(policy->choose(messages.of(1)).setting.budget.elements(), 2'500 - 500, 1);
}

// A ring of four: 3 messages a link and phase, 6 slots and as many hops; with fewer hops there
// would be time for half as much again. Seen to fail when hops were not counted.
TEST(KimadPlus, GivesNoMessageMoreThanItsPathHasTimeFor) {
  Messages messages = like_each_other(3, 4, 5'000);
  for (PieceCurve& piece : messages.curves[0])
    for (CurvePoint& point : piece.points) point.missing_energy *= 1e6;
  messages.context.slots = 6;
  messages.context.round_time = 3 * kRoundTime;
  for (const auto& [hops, budgets] : {std::pair(6u, 1.0), std::pair(4u, 1.5)}) {
    messages.context.hops = hops;
    const auto policy = kimad_plus(kThreshold);
    EXPECT_NEAR(policy->choose(messages.of(0)).setting.budget.elements(), 1'250 * budgets, 1);
    const auto others = policy->choose(messages.of(1)).setting.budget.elements() +
                        policy->choose(messages.of(2)).setting.budget.elements();
    EXPECT_NEAR(others, 1'250 * (3 - budgets), 2);
  }
}

TEST(KimadPlus, ListsAShareForEachLayerWhenItPacks) {
  Messages messages = like_each_other(1, 4, 5'000);
  for (CurvePoint& point : messages.curves[0][2].points) point.missing_energy *= 100;
  const Choice choice = kimad_plus(kKnapsack)->choose(messages.of(0));
  EXPECT_EQ(choice.setting.allocation, Allocation::kListed);
  ASSERT_EQ(choice.setting.shares.size(), 4u);
  EXPECT_EQ(std::accumulate(choice.setting.shares.begin(), choice.setting.shares.end(), 0u),
            choice.setting.budget.elements());
  EXPECT_GT(choice.setting.shares[2], choice.setting.budget.elements() / 2);
}

// Seen to fail when a rate that is a lower bound was shared as well.
TEST(KimadPlus, IsKimadUntilThereAreCurvesAndWhileARateIsOnlyALowerBound) {
  Messages messages = like_each_other(2, 4, 5'000);
  for (CurvePoint& point : messages.curves[0][0].points) point.missing_energy *= 100;
  const auto expect_kimad = [&](const MessageContext& message) {
    for (const char* allocator : {kThreshold, kKnapsack}) {
      const Choice plus = kimad_plus(allocator)->choose(message), plain = kimad()->choose(message);
      EXPECT_EQ(plus.setting.budget.elements(), plain.setting.budget.elements());
      EXPECT_EQ(plus.budget_bytes, plain.budget_bytes);
    }
  };
  MessageContext message = messages.of(0);
  message.link.lower_bound = true;
  message.proven_bytes = 4'000;
  expect_kimad(message);
  message.link = {};
  expect_kimad(message);
  message = messages.of(0);
  message.curves = {};
  expect_kimad(message);
  messages.curves[0].clear();
  expect_kimad(messages.of(0));
  EXPECT_EQ(kimad_plus(kKnapsack)->choose(messages.of(0)).setting.allocation,
            Allocation::kProportional);
}

Messages random_messages(Random& random) {
  Messages messages;
  for (std::uint32_t m = 1 + random.below(5); m > 0; --m) {
    Curve curve;
    for (std::uint32_t l = 1 + random.below(6); l > 0; --l) {
      const auto size = static_cast<std::size_t>(std::pow(2'000, random.uniform()));
      curve.push_back(random_curve(size, std::pow(1000, random.uniform()), random));
      if (random.below(8) == 0) curve.back().points = {{0, 0}};
    }
    messages.add(curve);
    if (random.below(8) == 0) messages.curves.back().clear();
  }
  messages.context.overhead_bytes = random.below(200);
  messages.context.chunk_overhead_bytes = random.below(64);
  messages.context.link.bytes_per_s = std::pow(10, 3 + 5 * random.uniform());
  messages.context.slots = 2 + random.below(6);
  messages.context.hops = 1 + random.below(messages.context.slots);
  return messages;
}

void expect_a_right_setting(const Choice& choice, const MessageContext& message) {
  const Setting& setting = choice.setting;
  ASSERT_LE(whole_bytes(bytes_of(setting, message.elements), message), choice.budget_bytes);
  if (setting.budget.is_dense()) return;
  const std::uint32_t keep = setting.budget.elements();
  ASSERT_GE(keep, floor_keep(message.elements));
  ASSERT_LE(keep, message.elements);
  ASSERT_LE(setting.floor, keep);
  if (setting.allocation != Allocation::kListed) return;
  ASSERT_EQ(std::accumulate(setting.shares.begin(), setting.shares.end(), 0u), keep);
  const Curve& curve = *message.curves[message.own];
  for (std::size_t l = 0; l < curve.size(); ++l) ASSERT_LE(setting.shares[l], curve[l].size);
}

// Seen to fail when a message that is sent whole was not taken off what the others share.
TEST(KimadPlus, NeverPassesTheBudgetsOfALinkAndNeverStarvesAChannel) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    Messages messages = random_messages(random);
    const auto allocator = random.below(2) == 0 ? kThreshold : kKnapsack;
    const auto policy = kimad_plus(allocator);
    std::size_t spent = 0, budgets = 0;
    for (std::size_t m = 0; m < messages.curves.size(); ++m) {
      const MessageContext message = messages.of(m);
      const Choice choice = policy->choose(message);
      expect_a_right_setting(choice, message);
      // Nothing but a floor, or what is smaller than one, passes a part.
      spent += choice.budget_bytes -
               std::min(choice.budget_bytes, floor_bytes(message, *make_codec("topk")));
      budgets += budget_bytes(milliseconds(20), message, *make_codec("topk"));
    }
    ASSERT_LE(spent, budgets);
  }
}

TEST(KimadPlusDeathTest, KimadPlusWithoutARoundTimeIsOurMistake) {
  EXPECT_DEATH((void)make_policy({policy_options("kimad_plus"), make_codec("topk")}),
               "a round time");
}

// A link's messages and budget, drawn from a seed; `own` is one of the messages.
MessageContext drawn_context(Messages& messages, std::uint64_t seed) {
  Random random(seed, 0, 0, Purpose::kTest);
  const unsigned count = 2 + random.below(4);
  for (unsigned m = 0; m < count; ++m) {
    const double scale = 1 + 9 * random.uniform();
    Curve curve;
    for (int layer = 0; layer < 2; ++layer) {
      std::vector<double> magnitudes(300 + random.below(3000));
      for (double& x : magnitudes) {
        const double u = random.uniform();
        x = scale * u * u * u * u;
      }
      curve.push_back(exact_curve(magnitudes));
    }
    messages.add(curve);
  }
  messages.context.link = {2e5 + 1e6 * random.uniform(), 0.01, Duration{0}, false};
  messages.context.slots = 2 + random.below(6);
  messages.context.hops = 1 + random.below(2);
  messages.context.overhead_bytes = 80;
  messages.context.chunk_overhead_bytes = 30;
  return messages.of(random.below(count));
}

// topk divides a link's budgets in elements, not in bytes, whatever an element costs. The numbers
// are those of the policy before codecs divided budgets. Seen to fail, each by one byte, with bytes
// divided instead.
TEST(KimadPlus, CountsElementsWhateverTheirFormat) {
  struct Decided {
    KeyTexts keys;
    std::uint64_t seed;
    std::size_t budget_bytes;
  };
  for (const Decided& decided :
       {Decided{{{"indices", "packed"}}, 238, 7913}, Decided{{{"values", "int4"}}, 48, 2037},
        Decided{{{"values", "int4"}, {"indices", "coded"}}, 383, 424}}) {
    const auto policy = make_policy(
        {policy_options("kimad_plus"), make_codec("topk", decided.keys), milliseconds(20)});
    Messages messages;
    EXPECT_EQ(policy->choose(drawn_context(messages, decided.seed)).budget_bytes,
              decided.budget_bytes)
        << "seed " << decided.seed;
  }
}

}  // namespace
}  // namespace kimesh::kimad_plus_test
