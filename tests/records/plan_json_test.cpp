#include "kimesh/records/plan_json.h"

#include <gmock/gmock.h>

#include "tests/records/folder.h"

namespace kimesh::plan_json_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string without_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

TEST(PlanJson, TellsWhoSendsWhatToWhomAtWhichHop) {
  const std::string text = without_space(plan_json(test::small_plan(), test::topology_of(2), true));
  EXPECT_EQ(
      text,
      R"({"kind":"ring","nodes":["a","b"],"hops":2,"elements":23,"links":[)"
      R"({"from":"a","to":"b","reduce_messages":1,"gather_messages":1},)"
      R"({"from":"b","to":"a","reduce_messages":1,"gather_messages":1}],"shards":[)"
      R"({"shard":0,"owner":"a","begin":0,"elements":12,)"
      R"("layers":[{"name":"layers.0.weight","first":0,"elements":12}],)"
      R"("reduce":[{"hop":1,"from":"b","to":"a"}],"gather":[{"hop":1,"from":"a","to":"b"}]},)"
      R"({"shard":1,"owner":"b","begin":12,"elements":11,)"
      R"("layers":[{"name":"layers.0.weight","first":12,"elements":8},)"
      R"({"name":"layers.0.bias","first":0,"elements":3}],)"
      R"("reduce":[{"hop":1,"from":"a","to":"b"}],"gather":[{"hop":1,"from":"b","to":"a"}]}]})");
}

TEST(PlanJson, LeavesSizesOutWhenTheModelIsNotKnown) {
  const std::string text = plan_json(test::small_plan(), test::topology_of(2), false);
  EXPECT_THAT(text, Not(HasSubstr("elements")));
  EXPECT_THAT(text, Not(HasSubstr("layers")));
}

}  // namespace
}  // namespace kimesh::plan_json_test
