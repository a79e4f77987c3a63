// What `kimesh explain` says. The page in docs that it writes is tested with LibTorch's models.
#include "kimesh/run/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kimesh::explain_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Explain, ListsWhatThereIs) {
  const std::string text = *explain();
  for (const ExplainSection& section : explain_sections())
    EXPECT_THAT(text, HasSubstr(std::string(section.name)));
}

TEST(Explain, ASectionsKindsAndCommonKeys) {
  const std::string text = *explain("topology");
  EXPECT_THAT(text, HasSubstr("kind:\n  ring "));
  EXPECT_THAT(text, HasSubstr("nodes.NODE.max_rate"));
  EXPECT_THAT(text, HasSubstr("links.FROM->TO.delay"));
  EXPECT_THAT(text, Not(HasSubstr("fan_out")));
}

TEST(Explain, AKindsKeysWithTheirRanges) {
  const std::string text = *explain("topology", "tree");
  EXPECT_THAT(text, HasSubstr("whole number from 1 to 1024"));
  EXPECT_THAT(text, HasSubstr("sites.SITE.head"));
  EXPECT_THAT(text, Not(HasSubstr("max_rate")));
  EXPECT_THAT(*explain("topology", "ring"), HasSubstr("no keys of its own"));
}

TEST(Explain, AnUnknownNameIsToldWhatThereIs) {
  EXPECT_EQ(explain("topologie").error().code, ErrorCode::kUserInput);
  EXPECT_THAT(explain("topologie").error().message, HasSubstr("Write one of: topology"));
  EXPECT_THAT(explain("topology", "cube").error().message,
              HasSubstr("topology has no kind 'cube'. Write one of: ring, parameter_server, tree"));
}

// The keys of a map that has a subject of its own are told there.
TEST(Explain, TheTopOfAConfig) {
  const std::string text = *explain("config");
  EXPECT_THAT(text, HasSubstr("round_time"));
  EXPECT_THAT(text, HasSubstr("optimizer"));
  EXPECT_THAT(text, Not(HasSubstr("optimizer.lr")));
  EXPECT_THAT(text, Not(HasSubstr("cifar10")));
  EXPECT_THAT(*explain("data", "csv"), HasSubstr("label"));
  EXPECT_THAT(explain("config", "sgd").error().message, HasSubstr("config has no kind 'sgd'"));
}

}  // namespace
}  // namespace kimesh::explain_test
