// What a mesh may expect of its links whatever carries them: the same troubles on live links,
// through relays, and on simulated ones. Hellos, refusals and restarts belong to connections,
// which the simulator does not have: tests/link and live_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/digest.h"
#include "tests/link/relay.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::contract_test {
namespace {

constexpr NodeIndex kNodes = 3;  // a ring: n0 -> n1 -> n2 -> n0
constexpr Round kTroubleRound = 5;

// A trouble begins with the end of round kTroubleRound; breaks last for the whole run.
struct Trouble {
  // Each connection to n1 breaks after so many bytes, more than a hello has; 0: none breaks.
  std::size_t breaks_after = 0;
  std::vector<NodeIndex> dead{};  // nothing comes to these nodes any more, answers to them do
  std::optional<NodeIndex> stops{};
};

struct End {
  Outcome outcome = Outcome::kFailed;
  std::string text;
};
struct Ends {
  std::vector<End> nodes;
  std::vector<float> model;  // of a run that is done
  [[nodiscard]] bool done() const {
    return std::ranges::all_of(nodes, [](const End& end) { return end.outcome == Outcome::kDone; });
  }
};

MeshSpec ring(Round rounds) {
  MeshSpec spec;
  spec.nodes = kNodes;
  spec.dimension = 3000;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  spec.core.stop_rounds = rounds;
  return spec;
}

LinkIndex link_to(const Mesh& mesh, NodeIndex node) {
  for (LinkIndex link = 0; link < mesh.plan.links.size(); ++link)
    if (mesh.plan.links[link].to == node) return link;
  ADD_FAILURE() << "no link leads to node " << node;
  return 0;
}

Ends run_simulated(const MeshSpec& spec, const Trouble& trouble) {
  Mesh calm(ring(kTroubleRound + 1));
  calm.run();
  const double at = to_seconds(calm.reports[0].back().ended.time_since_epoch());
  Mesh mesh(spec);
  constexpr double kDay = 86'400;
  mesh.setup.seconds_max = kDay;
  const auto add = [&](Fault::Kind kind, double seconds, LinkIndex link, NodeIndex node) {
    mesh.setup.faults.push_back({kind, seconds, link, node});
  };
  const double lasts = 8 * static_cast<double>(trouble.breaks_after) / spec.rate_bits_per_s;
  constexpr int kBreaks = 1000;
  for (int i = 1; lasts > 0 && i <= kBreaks; ++i) {
    add(Fault::Kind::kCut, i * lasts, link_to(mesh, 1), 0);
    add(Fault::Kind::kRestore, (i + 0.1) * lasts, link_to(mesh, 1), 0);
  }
  if (lasts > 0) mesh.setup.seconds_max = kBreaks * lasts;  // breaks do not end before the run
  for (const NodeIndex node : trouble.dead) add(Fault::Kind::kCut, at, link_to(mesh, node), 0);
  if (trouble.stops) add(Fault::Kind::kStop, at, 0, *trouble.stops);
  mesh.run();
  Ends ends;
  for (NodeIndex i = 0; i < kNodes; ++i) {
    const SimulatedEnd& end = mesh.simulator->end(i);
    EXPECT_TRUE(end.finished) << "n" << i << " waits: " << mesh.simulator->core(i).waiting_for();
    ends.nodes.push_back({end.outcome, end.text});
  }
  if (ends.done()) ends.model = mesh.simulator->owners_parameters();
  return ends;
}

Ends run_live_too(const MeshSpec& spec, const Trouble& trouble) {
  Mesh mesh(spec);
  mesh.topology.dead_after = std::chrono::seconds(2);
  std::list<Relay> relays;  // [node]: the way to it
  for (NodeIndex i = 0; i < kNodes; ++i)
    mesh.topology.nodes[i].dial = relays.emplace_back().address();
  const auto relay = [&](NodeIndex node) { return std::next(relays.begin(), node); };
  relay(1)->cut_at(Relay::Way::kThere, trouble.breaks_after, 0);
  std::vector<std::atomic<bool>> flags(kNodes);
  LiveOptions options;
  for (auto& flag : flags) options.stops.push_back(&flag);
  options.on_addresses = [&] {
    for (NodeIndex i = 0; i < kNodes; ++i) relay(i)->lead_to(mesh.topology.nodes[i].address);
  };
  options.on_round = [&](NodeIndex node, Round round) {
    if (node != 0 || round != kTroubleRound) return;
    for (const NodeIndex dead : trouble.dead) relay(dead)->block();
    if (trouble.stops) flags[*trouble.stops] = true;
  };
  const LiveRun run = run_live(mesh, options);
  Ends ends;
  for (const auto& end : run.ends) {
    EXPECT_TRUE(end) << run.text();
    ends.nodes.push_back(end ? End{end->outcome, end->text} : End{});
  }
  if (trouble.breaks_after > 0) {
    EXPECT_GT(relay(1)->connections(), 3u) << "else nothing was cut";
  }
  if (ends.done()) ends.model = run.model(mesh.plan);
  return ends;
}

struct Links {
  const char* name;
  Ends (*run)(const MeshSpec& spec, const Trouble& trouble);
};
class LinkContract : public testing::TestWithParam<Links> {
 protected:
  static constexpr Round kLong = 1'000'000;
  static Ends run(const MeshSpec& spec, const Trouble& trouble) {
    return GetParam().run(spec, trouble);
  }
  static Ends run(Round rounds, const Trouble& trouble) { return run(ring(rounds), trouble); }
  // That link breaks, and the run ends with the bits of one where none does.
  static void expect_nothing_lost(const MeshSpec& spec, std::size_t breaks_after) {
    Mesh calm(spec);
    calm.run();
    ASSERT_TRUE(calm.done()) << calm.ends();
    const Ends ends = run(spec, {.breaks_after = breaks_after});
    ASSERT_TRUE(ends.done()) << ends.nodes[0].text;
    EXPECT_EQ(digest_floats(ends.model), digest_floats(calm.simulator->owners_parameters()));
  }
};
INSTANTIATE_TEST_SUITE_P(All, LinkContract,
                         testing::Values(Links{"Live", run_live_too},
                                         Links{"Simulated", run_simulated}),
                         [](const auto& links) { return std::string(links.param.name); });

TEST_P(LinkContract, WhatBreaksOverAndOverLosesNothingAndDoublesNothing) {
  expect_nothing_lost(ring(60), 15'000);
}

// A message has 40 kB in eight chunks, of which a connection carries three. Seen to fail: the link
// that goes on with chunk 0, live and simulated.
TEST_P(LinkContract, WhatBreaksMoreOftenThanAMessageTakesGoesOnWithItsNextChunk) {
  MeshSpec dense = ring(2);
  dense.dimension = 30'000;
  dense.core.policy = {policy_options("none"), nullptr};
  expect_nothing_lost(dense, 18'000);
}

TEST_P(LinkContract, AWayThatIsDeadEndsTheRunByItsNameThoughTheWayBackLives) {
  for (const End& end : run(kLong, {.dead = {1}}).nodes) {
    EXPECT_EQ(end.outcome, Outcome::kFailed);
    EXPECT_THAT(end.text, testing::ContainsRegex("(node n[01]|link n0->n1) has been silent"));
  }
}

// n2 hears nobody and nobody hears n2: each side names who is on the other one.
TEST_P(LinkContract, AMeshThatFallsApartEndsOnBothSides) {
  const Ends ends = run(kLong, {.dead = {2, 0}});
  for (const End& end : ends.nodes) {
    EXPECT_EQ(end.outcome, Outcome::kFailed);
    EXPECT_THAT(end.text,
                testing::ContainsRegex("(node n[012]|link n[012]->n[012]) has been silent"));
  }
}

TEST_P(LinkContract, AStopReachesAll) {
  for (const End& end : run(kLong, {.stops = 2}).nodes) {
    EXPECT_EQ(end.outcome, Outcome::kStopped);
    EXPECT_THAT(end.text, testing::HasSubstr("stopped by the user"));
  }
}

}  // namespace
}  // namespace kimesh::test::contract_test
