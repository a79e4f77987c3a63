// What a torus adds to what tests/topology/plan_test.cpp holds every kind to.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/topology/plan.h"
#include "tests/topology/topologies.h"

namespace kimesh::torus_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

struct Size {
  unsigned rows, columns;
};
constexpr Size kSizes[] = {{2, 2}, {2, 3}, {3, 2}, {3, 3}, {2, 7}, {4, 5}, {8, 8}};

TopologyFile torus(Size size) {
  return test::topology_of("torus", std::size_t{size.rows} * size.columns,
                           fmt::format("rows: {}\ncolumns: {}", size.rows, size.columns));
}

Plan plan_of(const TopologyFile& topology) {
  return *make_plan(topology, Layout::vector(10 * topology.nodes.size()));
}

template <typename Check>
void for_every_size(Check check) {
  for (const Size size : kSizes) {
    SCOPED_TRACE(fmt::format("{} x {}", size.rows, size.columns));
    check(size, plan_of(torus(size)));
  }
}

using Hops = std::vector<std::pair<int, int>>;

Hops hops(const Plan& plan, ShardIndex shard, Phase phase) {
  Hops result;
  for (const Hop& hop : hops_of(plan, shard, phase))
    result.emplace_back(plan.link_of(hop.channel).from, plan.link_of(hop.channel).to);
  return result;
}

// Seen to fail with a gather parent two places back.
TEST(TorusPlan, EverySumReachesTheOwnerOnceAndEveryNodeGetsTheShardOnce) {
  for_every_size([](Size, const Plan& plan) {
    const std::size_t nodes = plan.view.nodes.size();
    ASSERT_EQ(plan.shards.size(), nodes) << "every node owns a shard";
    for (ShardIndex shard = 0; shard < nodes; ++shard) {
      const NodeIndex owner = plan.shards[shard].owner;
      std::vector<std::size_t> sums(nodes, 1), gets(nodes, 0);
      for (const auto& [from, to] : hops(plan, shard, Phase::kReduce))
        sums[to] += std::exchange(sums[from], 0);
      EXPECT_EQ(sums[owner], nodes);
      gets[owner] = 1;
      for (const auto& [from, to] : hops(plan, shard, Phase::kGather)) {
        EXPECT_EQ(gets[from], 1u) << "a node passes on what it does not have";
        ++gets[to];
      }
      EXPECT_EQ(gets, std::vector<std::size_t>(nodes, 1));
    }
  });
}

// Seen to fail with the reduce along the columns alone, round and round.
TEST(TorusPlan, APhaseTakesTheHopsOfARowAndOfAColumn) {
  for_every_size([](Size size, const Plan& plan) {
    const unsigned most = size.rows - 1 + size.columns - 1;
    EXPECT_EQ(plan.hops, 2 * most);
    for (ShardIndex shard = 0; shard < plan.shards.size(); ++shard)
      for (const Phase phase : {Phase::kReduce, Phase::kGather})
        EXPECT_EQ(hops_of(plan, shard, phase).back().number, most);
  });
}

// Seen to fail with the row of `right_of` taken from the end.
TEST(TorusPlan, LinksLeadToTheRightAndDownAndFromTheLastToTheFirst) {
  for_every_size([](Size size, const Plan& plan) {
    EXPECT_EQ(plan.links.size(), 2 * plan.view.nodes.size());
    for (unsigned row = 0; row < size.rows; ++row)
      for (unsigned column = 0; column < size.columns; ++column) {
        const auto at = [&](unsigned r, unsigned c) {
          return static_cast<NodeIndex>(r % size.rows * size.columns + c % size.columns);
        };
        EXPECT_TRUE(plan.find_link(at(row, column), at(row, column + 1)));
        EXPECT_TRUE(plan.find_link(at(row, column), at(row + 1, column)));
      }
  });
}

// Seen to fail with a kind that carries what its trees do not use.
TEST(TorusPlan, OnlyALinkOfATreeMayHaveARate) {
  const TopologyFile topology = torus({3, 4});
  const Plan plan = plan_of(topology);
  for (NodeIndex from = 0; from < 12; ++from)
    for (NodeIndex to = 0; to < 12; ++to)
      EXPECT_EQ(topology.kind->carries(topology, from, to), plan.find_link(from, to).has_value());
}

// Seen to fail with a gather along the rows first.
TEST(TorusPlan, TheReduceGoesAlongRowsThenColumnsAndTheGatherTheOtherWay) {
  const Plan plan = plan_of(torus({2, 3}));  // 0 1 2
                                             // 3 4 5
  EXPECT_THAT(hops(plan, 4, Phase::kReduce),
              ElementsAre(Pair(2, 0), Pair(5, 3), Pair(0, 1), Pair(3, 4), Pair(1, 4)));
  EXPECT_THAT(hops(plan, 4, Phase::kGather),
              ElementsAre(Pair(4, 1), Pair(4, 5), Pair(1, 2), Pair(5, 3), Pair(2, 0)));
}

std::string problem_of(std::size_t nodes, const std::string& keys) {
  TopologyFile topology;
  topology.nodes = test::some_nodes(nodes);
  const std::vector<Problem> problems = set_kind(topology, "torus", keys);
  return problems.size() == 1 ? to_string(problems[0])
                              : fmt::format("{} problems", problems.size());
}

// Seen to fail without either check.
TEST(Torus, RefusesWhatIsNoTorusWithOneSentence) {
  EXPECT_EQ(problem_of(6, "rows: 2\ncolumns: 4"),
            "(made by a program):1: 2 rows of 4 columns are 8 nodes, and the file has 6. Write "
            "rows and columns whose product is the number of nodes.");
  EXPECT_EQ(problem_of(6, "rows: 6\ncolumns: 1"),
            "(made by a program):2: columns is '1'. Write a whole number from 2 to 512.");
  EXPECT_EQ(problem_of(6, "rows: 1\ncolumns: 6"),
            "(made by a program):1: rows is '1'. Write a whole number from 2 to 512.");
  EXPECT_EQ(problem_of(6, "rows: 2"), "(made by a program):1: columns is missing. Add columns: 3.");
}

std::string picture(Size size) {
  const TopologyFile topology = torus(size);
  return topology.kind->picture(topology);
}

// Seen to fail without the first node at the end of its row.
TEST(DrawPlan, ShowsATorusWithTheLinksThatLeadFromItsEndsToItsStarts) {
  EXPECT_EQ(picture({2, 3}), R"(  a --> b --> c --> a
  v     v     v
  d --> e --> f --> d
  v     v     v
  a     b     c
)");
}

TEST(DrawPlan, LeavesOutTheColumnsAndRowsOfATorusThatHaveNoRoom) {
  EXPECT_THAT(picture({2, 30}),
              testing::StartsWith(
                  "  a   --> b   --> c   --> d   --> e   --> f   --> g   --> h   --> ... --> a\n"
                  "  v       v       v       v       v       v       v       v\n"));
  EXPECT_EQ(picture({7, 2}), R"(  a --> b --> a
  v     v
  c --> d --> c
  v     v
  e --> f --> e
  v     v
  g --> h --> g
  v     v
  (3 more rows)
  v     v
  a     b
)");
}

}  // namespace
}  // namespace kimesh::torus_test
