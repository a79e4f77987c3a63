#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/policy/compression_options.h"
#include "kimesh/policy/policy_options.h"

namespace kimesh::ratio_by_round_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Policy> policy(const char* codec = "topk") {
  return make_policy(
      {policy_options("ratio_by_round", {{"ratio_from_round", "0: 0.2, 10: 0.01, 20: 1"}}),
       make_codec(codec)});
}

MessageContext in_round(Round round) {
  MessageContext message;
  message.elements = 1000;
  message.round = round;
  return message;
}

// Seen to fail with lower_bound in place of upper_bound.
TEST(RatioByRound, ARatioHoldsFromItsRoundOn) {
  const std::pair<Round, std::uint32_t> kept[] = {{0, 200}, {9, 200}, {10, 10}, {19, 10}};
  for (const auto& [round, elements] : kept) {
    const Choice choice = policy()->choose(in_round(round));
    EXPECT_EQ(choice.setting.budget, Budget::keep(elements)) << "round " << round;
    EXPECT_EQ(choice.budget_bytes, 0u);
  }
  EXPECT_TRUE(policy()->choose(in_round(20)).setting.budget.is_dense());
  EXPECT_TRUE(policy()->choose(in_round(1'000'000)).setting.budget.is_dense());
}

TEST(RatioByRound, TheLinkHasNoPartInIt) {
  MessageContext slow = in_round(12), fast = in_round(12);
  slow.link = {1e3, 0.01, Duration{0}, false};
  fast.link = {1e9, 0.01, Duration{0}, false};
  EXPECT_EQ(policy()->choose(slow).setting.budget, policy()->choose(fast).setting.budget);
}

std::vector<std::string> problems(const std::string& text) {
  std::vector<std::string> sentences;
  for (const Problem& problem : load_options<CompressionOptions>(text).problems)
    sentences.push_back(to_string(problem));
  return sentences;
}

TEST(RatioByRound, ItIsForCodecsThatCountElements) {
  const std::string ratios = "{policy: ratio_by_round, ratio_from_round: {0: 0.1}, compressor: ";
  EXPECT_THAT(problems(ratios + "topk}"), ElementsAre());
  EXPECT_THAT(problems(ratios + "dzq}"),
              ElementsAre(HasSubstr("dzq does not keep a share of the elements. Write compressor: "
                                    "topk, or policy: fixed.")));
  EXPECT_THAT(problems("{policy: ratio_by_round, compressor: topk}"),
              ElementsAre(HasSubstr("ratio_from_round is missing. Add ratio_from_round:")));
}

}  // namespace
}  // namespace kimesh::ratio_by_round_test
