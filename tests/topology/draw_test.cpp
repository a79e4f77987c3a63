#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/topology/plan.h"
#include "tests/topology/topologies.h"

namespace kimesh::draw_test {
namespace {

using test::all_serve;
using test::layout_of;
using test::ring;
using test::star;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string draw(const TopologyFile& topology, const Layout& layout) {
  return draw_plan(*make_plan(topology, layout), topology, true);
}

TEST(Draw, ShardsOfOneOwnerGoTheSameWaysAndAreDrawnOnce) {
  const TopologyFile topology = star(2, {0, 1});
  const Plan plan = *make_plan(topology, layout_of({{10, 2}, {6}}), 4);
  ASSERT_EQ(plan.shards.size(), 7u);
  const std::string text = draw_plan(plan, topology, true);
  EXPECT_THAT(text, HasSubstr("shards 0 to 2, owned by a\n"
                              "  12 elements, 48.0 B dense: layer0 rows 0 to 5 of 10\n"
                              "  reduce   1   b -> a   gradient of 1 node\n"
                              "  gather   1   a -> b   parameters\n"
                              "\nshards 3 to 6, owned by b\n"
                              "  14 elements, 56.0 B dense: layer0 rows 6 to 9 of 10, layer1\n"));
}

constexpr const char* kRingOfFour = R"(ring: 4 nodes, 4 shards, 4 links, 6 hops a round

  a --> b --> c --> d --+
  ^                     |
  +---------------------+

links, with their messages in each phase of a round
  a -> b   reduce  3, gather  3
  b -> c   reduce  3, gather  3
  c -> d   reduce  3, gather  3
  d -> a   reduce  3, gather  3

shard 0, owned by a
  6 elements, 24.0 B dense: layer0 rows 0 to 2 of 10
  reduce   1   b -> c   gradient of 1 node
  reduce   2   c -> d   gradients of 2 nodes
  reduce   3   d -> a   gradients of 3 nodes
  gather   1   a -> b   parameters
  gather   2   b -> c   parameters
  gather   3   c -> d   parameters

shard 1, owned by b
  6 elements, 24.0 B dense: layer0 rows 3 to 5 of 10
  reduce   1   c -> d   gradient of 1 node
  reduce   2   d -> a   gradients of 2 nodes
  reduce   3   a -> b   gradients of 3 nodes
  gather   1   b -> c   parameters
  gather   2   c -> d   parameters
  gather   3   d -> a   parameters

shard 2, owned by c
  6 elements, 24.0 B dense: layer0 rows 6 to 8 of 10
  reduce   1   d -> a   gradient of 1 node
  reduce   2   a -> b   gradients of 2 nodes
  reduce   3   b -> c   gradients of 3 nodes
  gather   1   c -> d   parameters
  gather   2   d -> a   parameters
  gather   3   a -> b   parameters

shard 3, owned by d
  6 elements, 24.0 B dense: layer0 row 9 of 10, layer1
  reduce   1   a -> b   gradient of 1 node
  reduce   2   b -> c   gradients of 2 nodes
  reduce   3   c -> d   gradients of 3 nodes
  gather   1   d -> a   parameters
  gather   2   a -> b   parameters
  gather   3   b -> c   parameters
)";

TEST(DrawPlan, ShowsEveryLinkAndEveryTransferOfARing) {
  EXPECT_EQ(draw(ring(4), layout_of({{10, 2}, {4}})), kRingOfFour);
}

constexpr const char* kStar = R"(parameter_server: 4 nodes, 1 shard, 6 links, 2 hops a round

  b <--+
  c <--+--> a
  d <--+

links, with their messages in each phase of a round
  a -> b   reduce  0, gather  1   emulated: 2.00 Mbit/s
  a -> c   reduce  0, gather  1   emulated: 2.00 Mbit/s
  a -> d   reduce  0, gather  1   emulated: 2.00 Mbit/s
  b -> a   reduce  1, gather  0   emulated: 500 kbit/s to 1.00 Mbit/s, 10.0 ms of delay
  c -> a   reduce  1, gather  0   emulated: 2.00 Mbit/s
  d -> a   reduce  1, gather  0   emulated: 2.00 Mbit/s

shard 0, owned by a
  10 elements, 40.0 B dense: the vector
  reduce   1   b -> a   gradient of 1 node
  reduce   1   c -> a   gradient of 1 node
  reduce   1   d -> a   gradient of 1 node
  gather   1   a -> b   parameters
  gather   1   a -> c   parameters
  gather   1   a -> d   parameters
)";

TEST(DrawPlan, ShowsEveryLinkAndEveryTransferOfAStarAndWhatItsLinksEmulate) {
  TopologyFile topology = star(4, {0});
  topology.default_link.rate = RateTrace{{{0, 2e6}}};
  const LinkSpec slow{RateTrace{{{0, 5e5}, {1, 1e6}}}, std::chrono::milliseconds(10)};
  topology.links.push_back({1, 0, slow});
  EXPECT_EQ(draw(topology, Layout::vector(10)), kStar);
}

TEST(DrawPlan, DrawsSeveralServersAsStarsAmongAllNodes) {
  EXPECT_THAT(draw(all_serve(3), Layout::vector(10)),
              StartsWith("parameter_server: 3 nodes, 3 shards, 6 links, 2 hops a round\n"
                         "\n"
                         "  every other node <--+--> a\n"
                         "                      +--> b\n"
                         "                      +--> c\n"
                         "\n"));
}

TEST(DrawPlan, FoldsARingThatIsTooLongForARow) {
  TopologyFile topology = ring(3);
  for (NodeSpec& node : topology.nodes) node.name.insert(0, 30, 'x');
  const std::string x(30, 'x');
  EXPECT_THAT(draw(topology, Layout::vector(10)),
              HasSubstr("\n  " + x + "a --> " + x + "b -->\n  " + x + "c --> " + x + "a again\n"));
}

TEST(DrawPlan, ShortensThePictureOfAThousandNodesAndNothingElse) {
  const std::string text = draw(star(1000, {0}), Layout::vector(10));
  EXPECT_THAT(text, HasSubstr("\n  l          <--+\n  (988 more) <--+\n\nlinks"));
  EXPECT_THAT(text, HasSubstr("  reduce   1   n999 -> a      gradient of 1 node\n"));
}

TEST(DrawPlan, LeavesSizesOutWhenTheModelIsNotKnown) {
  const TopologyFile topology = star(2, {0});
  const Plan plan = *make_plan(topology, Layout::vector(10));
  const std::string text = draw_plan(plan, topology, false);
  EXPECT_THAT(text, HasSubstr("shard 0, owned by a\n  reduce   1   b -> a"));
  EXPECT_THAT(text, Not(HasSubstr("element")));
}

TEST(DrawPlan, NamesTheFirstLayersOfAShardAndCountsTheOthers) {
  const std::vector<std::vector<std::int64_t>> shapes(8, {2});
  EXPECT_THAT(draw(star(2, {0}), layout_of(shapes)),
              HasSubstr("layer4, layer5 and 2 more layers\n"));
}

}  // namespace
}  // namespace kimesh::draw_test
