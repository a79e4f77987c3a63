#include "kimesh/records/parse_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kimesh/records/recorder.h"
#include "kimesh/records/run_folder.h"
#include "tests/records/folder.h"

namespace kimesh::parse_json_test {
namespace {

using Json = nlohmann::ordered_json;

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParseJson, TakesWhatNestsUpToTheLimit) {
  EXPECT_FALSE(parse_json<Json>(nested(kJsonDepthMax)).is_discarded());
  EXPECT_TRUE(parse_json<Json>(nested(kJsonDepthMax + 1)).is_discarded());
  std::string objects = "0";
  for (std::size_t i = 0; i < kJsonDepthMax; ++i) objects = R"({"in": )" + objects + "}";
  EXPECT_FALSE(parse_json<Json>(objects).is_discarded());
  EXPECT_TRUE(parse_json<Json>("[" + objects + "]").is_discarded());
}

TEST(ParseJson, CountsLevelsAndNoBracketsInText) {
  std::string wide = "[";
  for (int i = 0; i < 1'000; ++i) wide += R"([{}, "a\\"], )";
  EXPECT_EQ(parse_json<Json>(wide + "0]").size(), 1'001u);
  const std::string brackets(1'000, '[');
  EXPECT_EQ(parse_json<Json>(R"(["\")" + brackets + R"(\\"])")[0], '"' + brackets + '\\');
}

TEST(ParseJson, DiscardsWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "]]", R"("\)", "{}}"})
    EXPECT_TRUE(parse_json<Json>(text).is_discarded()) << text;
}

// Seen to fail: the copy of the layout called itself until the stack was used up.
TEST(ParseJson, OfARunThatNestsDeepIsNoLayout) {
  const test::Folder folder;
  test::put(folder / "run.json", R"({"layout": )" + nested(500'000) + "}");
  EXPECT_TRUE(RunFolder(folder.path()).layout().layers.empty());
}

// Seen to fail: so did the text of the policy's state.
TEST(ParseJson, OfARecordThatNestsDeepIsAComplaint) {
  RoundRecord round;
  round.policy = "{}";
  std::string line = to_line(round);
  ASSERT_TRUE(parse_record(line).ok()) << line;
  line.insert(line.find("{}") + 1, R"("a":)" + nested(1'000'000));
  const auto record = parse_record(line);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().message, "it is no JSON object");
}

}  // namespace
}  // namespace kimesh::parse_json_test
