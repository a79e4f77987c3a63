#include "kimesh/topology/topology_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/config/text_file.h"

namespace kimesh::topology_file_test {
namespace {

using namespace std::chrono_literals;

const std::string kNodes =
    "nodes:\n"
    "  a: {address: \"tcp://127.0.0.1:7101\"}\n"
    "  b: {address: \"tcp://127.0.0.1:7102\"}\n"
    "  c: {address: \"tcp://127.0.0.1:7103\"}\n";

TopologyFile load(const std::string& text) {
  const TextFile file("topology.yaml", text);
  auto loaded = load_topology(file.path());
  for (const Problem& problem : loaded.problems) ADD_FAILURE() << to_string(problem);
  return loaded.value;
}

std::string canonical(const std::string& text) {
  return load(text).canonical();
}

TEST(TopologyFile, ReadsEveryKey) {
  const TopologyFile t = load(
      "kind: parameter_server\n"
      "servers: [c, a]\n"
      "security: none\n"
      "dead_after: 20s\n"
      "start_timeout: 2min\n"
      "first_gradient: 2h\n"
      "nodes:\n"
      "  c: {address: \"tcp://0.0.0.0:7101\", dial: \"tcp://host-c:7101\", data_weight: 0.5}\n"
      "  b: {address: \"tcp://[::1]:7102\", uplink: 5Mbit, downlink: 10Mbit, data_weight: 2}\n"
      "  a: {address: \"tcp://localhost:7103\", data_weight: 1}\n");
  ASSERT_EQ(t.nodes.size(), 3u);
  EXPECT_EQ(t.kind->kind_name(), "parameter_server");
  EXPECT_EQ(t.servers, (std::vector<NodeIndex>{0, 2}));
  EXPECT_EQ(t.security, Security::kNone);
  EXPECT_EQ(t.dead_after, 20s);
  EXPECT_EQ(t.start_timeout, 120s);
  EXPECT_EQ(t.first_gradient, 2h);
  EXPECT_EQ(t.nodes[0].name, "c");
  EXPECT_EQ(t.nodes[0].dial, "tcp://host-c:7101");
  EXPECT_EQ(t.places.line("nodes.c"), 8);
  EXPECT_EQ(t.nodes[0].uplink_bits_per_s, std::nullopt);
  EXPECT_EQ(t.nodes[1].uplink_bits_per_s, 5e6);
  EXPECT_EQ(t.nodes[1].downlink_bits_per_s, 10e6);
  EXPECT_EQ(t.nodes[1].data_weight, 2);
}

// Seen to fail: dial not looked at; names that begin as loopback taken for it.
TEST(TopologyFile, LinksAreEncryptedWhereOtherMachinesReachANodeOrTheFileSaysSo) {
  const auto with = [](const std::string& place, const std::string& more = "") {
    return load("kind: ring\nnodes:\n  a: {address: \"tcp://127.0.0.1:7101\"}\n  b: {" + place +
                "}\n" + more);
  };
  for (const char* here : {"address: \"tcp://127.0.0.1:7102\"", "address: \"tcp://[::1]:7102\"",
                           "address: \"tcp://127.8.0.1:1\", dial: \"tcp://localhost:1\""}) {
    EXPECT_FALSE(with(here).is_encrypted()) << here;
    EXPECT_FALSE(with(here).is_reachable()) << here;
    EXPECT_TRUE(with(here, "security: curve\n").is_encrypted()) << here;
  }
  for (const char* open :
       {"address: \"tcp://192.168.1.12:7102\"", "address: \"tcp://[fe80::1]:1\"",
        "address: \"tcp://127.0.0.1:7102\", dial: \"tcp://node-b:7102\"",
        "address: \"tcp://*:7102\", dial: \"tcp://127.0.0.1:7102\"",
        "address: \"tcp://127.0.0.1.example.com:7103\"", "address: \"tcp://127.0.0.1.5:7103\""}) {
    EXPECT_TRUE(with(open).is_encrypted()) << open;
    EXPECT_FALSE(with(open, "security: none\n").is_encrypted()) << open;
    EXPECT_TRUE(with(open, "security: none\n").is_reachable()) << open;
  }
}

TEST(TopologyFile, KeysLieBesideItUnlessItSaysWhere) {
  const std::string beside = load("kind: ring\n" + kNodes).keys_folder;
  const std::string named =
      load("kind: ring\nsecurity: curve\nkeys: of-mine\n" + kNodes).keys_folder;
  EXPECT_EQ(beside, std::filesystem::path(testing::TempDir()) / "keys");
  EXPECT_EQ(named, std::filesystem::path(testing::TempDir()) / "of-mine");
}

TEST(TopologyFile, HasDefaultsForAllButNodesAndKind) {
  const TopologyFile t = load("kind: ring\n" + kNodes);
  EXPECT_EQ(t.servers, (std::vector<NodeIndex>{0, 1, 2}));
  EXPECT_EQ(t.security, Security::kUnspecified);
  EXPECT_EQ(t.dead_after, 15s);
  EXPECT_EQ(t.start_timeout, 60s);
  EXPECT_EQ(t.first_gradient, 30min);
  EXPECT_TRUE(t.links.empty());
  EXPECT_FALSE(t.link(0, 1).rate.has_value());
  EXPECT_EQ(t.link(0, 1).delay, 0s);
}

// Seen to fail when a named link began as an empty one, and when `default` was read in its place.
TEST(TopologyFile, ALinkTakesFromTheDefaultWhatItDoesNotSay) {
  const TopologyFile t = load("kind: ring\n" + kNodes +
                              "links:\n"
                              "  b -> c: {rate: 1Mbit}\n"
                              "  a->b: {delay: 30ms}\n"
                              "  default: {rate: 2Mbit, delay: 10ms, bucket: 16KiB}\n");
  EXPECT_EQ(t.link(0, 1).rate->at(0), 2e6);
  EXPECT_EQ(t.link(0, 1).delay, 30ms);
  EXPECT_EQ(t.link(1, 2).rate->at(0), 1e6);
  EXPECT_EQ(t.link(1, 2).delay, 10ms);
  EXPECT_EQ(t.link(2, 0).rate->at(0), 2e6);
  EXPECT_EQ(t.link(1, 2).bucket_bytes, 16384u);
}

TEST(TopologyFile, ALinkSaysWhoOpensItsConnectionAndWhere) {
  const TopologyFile t = load("kind: ring\n" + kNodes +
                              "links:\n"
                              "  a->b: {dial: to}\n"
                              "  b->c: {address: \"tcp://10.0.0.3:7103\"}\n"
                              "  c->a: {dial: to, address: \"tcp://10.0.0.3:7103\"}\n");
  EXPECT_EQ(t.dialled_by(0, 1), DialledBy::kReceiver);
  EXPECT_EQ(t.dial_address(0, 1), t.nodes[0].address);
  EXPECT_EQ(t.dialled_by(1, 2), DialledBy::kSender);
  EXPECT_EQ(t.dial_address(1, 2), "tcp://10.0.0.3:7103");
  EXPECT_EQ(t.dialled_by(2, 0), DialledBy::kReceiver);
  EXPECT_EQ(t.dial_address(2, 0), "tcp://10.0.0.3:7103");
  EXPECT_TRUE(t.is_encrypted()) << "another machine is named";
  const TopologyFile all =
      load("kind: ring\n" + kNodes + "links:\n  default: {dial: to}\n  b->c: {dial: from}\n");
  EXPECT_EQ(all.dialled_by(0, 1), DialledBy::kReceiver);
  EXPECT_EQ(all.dial_address(0, 1), all.nodes[0].address);
  EXPECT_EQ(all.dialled_by(1, 2), DialledBy::kSender);
  EXPECT_EQ(all.dial_address(1, 2), all.nodes[2].address);
}

TEST(TopologyFile, FindsTracesBesideItself) {
  const TextFile trace("office.csv", "# office\nseconds,rate\n0,2Mbit\n1.5, 500kbit/s\r\n\n3,7\n");
  const TopologyFile t =
      load("kind: ring\n" + kNodes + "links:\n  a->b: {trace: " + trace.name() + "}\n");
  const auto& steps = t.link(0, 1).rate->steps;
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].bits_per_s, 2e6);
  EXPECT_EQ(steps[1].seconds, 1.5);
  EXPECT_EQ(steps[1].bits_per_s, 5e5);
  EXPECT_EQ(steps[2].bits_per_s, 7);
  EXPECT_EQ(t.traces, std::vector<std::string>{trace.name()});
}

TEST(TopologyCanonical, IsTheSameForTheSameMeaning) {
  const std::string one = canonical("kind: ring\n" + kNodes +
                                    "links:\n  default: {rate: 2Mbit}\n  a->b: {rate: 1Mbit}\n");
  // Other order, units, spelling, comments, addresses, keys and lines that repeat the default.
  EXPECT_EQ(one,
            canonical("# a comment\nlinks:\n  b->c: {rate: 2000kbit}\n  a->b: {rate: 1000 kbit}"
                      "\n  default: {rate: 2Mbit/s, delay: 0ms}\ndead_after: 15000ms\n"
                      "nodes:\n"
                      "  a: {address: \"tcp://127.0.0.1:9101\"}\n"
                      "  b: {address: \"tcp://127.0.0.2:9102\", dial: \"tcp://[::1]:1\"}\n"
                      "  c: {address: \"tcp://127.0.0.1:9103\"}\n"
                      "servers: all\nkind: ring\nsecurity: curve\nkeys: elsewhere\n"
                      "first_gradient: 1min\n"));
}

// Seen to fail with each of these left out of canonical().
TEST(TopologyCanonical, IsOtherForAnyOtherMeaning) {
  const std::string links = "links:\n  default: {rate: 2Mbit}\n";
  const std::string base = "kind: parameter_server\n" + kNodes + links;
  std::vector<std::string> all{canonical(base), canonical("kind: ring\n" + kNodes + links)};
  for (const char* more :
       {"servers: [a]\n", "servers: [b]\n", "dead_after: 16s\n", "start_timeout: 61s\n"})
    all.push_back(canonical(base + more));
  for (const char* link :
       {"  a->b: {rate: 1Mbit}\n", "  b->a: {rate: 1Mbit}\n", "  a->b: {delay: 1ms}\n",
        "  a->b: {rate: 1001kbit}\n", "  a->b: {bucket: 16KiB}\n", "  a->b: {dial: to}\n"})
    all.push_back(canonical(base + link));
  for (const char* node : {"uplink: 1Mbit", "downlink: 1Mbit", "max_rate: 1Mbit", "traffic: 1GB",
                           "local_steps: 1", "local_steps: 2"}) {
    std::string text = base;
    text.insert(text.find("7102\"") + 5, std::string(", ") + node);
    all.push_back(canonical(text));
  }
  for (const char* weight : {"1", "2"}) {
    std::string text = base;
    for (const char* port : {"7101\"", "7102\"", "7103\""})
      text.insert(text.find(port) + 5, std::string(", data_weight: ") + weight);
    all.push_back(canonical(text));
  }
  for (const char* weight : {"1", "3"}) {
    std::string text = base;
    for (const char* port : {"7101\"", "7102\"", "7103\""})
      text.insert(text.find(port) + 5, std::string(", shard_weight: ") + weight);
    all.push_back(canonical(text));
  }
  for (const char* kind :
       {"kind: tree\nfan_out: 1\n", "kind: tree\nfan_out: 2\n",
        "kind: tree\nparents: {a: b, c: b}\n", "kind: graph\nedges: [a-b, b-c]\n",
        "kind: graph\nedges: [a-b, b-c, a-c]\n"})
    all.push_back(canonical(kind + kNodes));
  std::string renamed = base;
  renamed.replace(renamed.find("  c:"), 4, "  d:");
  all.push_back(canonical(renamed));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " and " << j;
}

// Whom each node sends its sums to, where the first node owns the shard.
std::vector<NodeIndex> parents(const std::string& text) {
  const TopologyFile topology = load(text);
  return topology.kind->trees(topology).front().reduce_parent;
}

TEST(TopologyFile, ATreeIsSaidByParentsByFanOutOrBySites) {
  using Parents = std::vector<NodeIndex>;
  const std::string tree = "kind: tree\n" + kNodes;
  EXPECT_EQ(parents(tree + "parents: {a: b, c: b}\n"), (Parents{0, 0, 1}));
  EXPECT_EQ(parents(tree + "fan_out: 2\n"), (Parents{0, 0, 0}));
  EXPECT_EQ(parents(tree + "fan_out: 1\n"), (Parents{0, 0, 1}));
  const std::string sites =
      tree + "sites:\n  x: {head: b, nodes: [a, b]}\n  y: {head: c, nodes: [c]}\nservers: [a, c]\n";
  EXPECT_EQ(parents(sites), (Parents{0, 0, 1}));
  EXPECT_EQ(load(sites).servers, (std::vector<NodeIndex>{0, 2}));
  EXPECT_EQ(load(tree + "fan_out: 2\n").servers, (std::vector<NodeIndex>{0, 1, 2}));
}

TEST(TopologyCanonical, IsTheSameHoweverATreeOrAGraphIsSaid) {
  const std::string tree = "kind: tree\n" + kNodes, graph = "kind: graph\n" + kNodes;
  EXPECT_EQ(canonical(tree + "parents: {c: a, b: a}\n"), canonical(tree + "fan_out: 2\n"));
  EXPECT_EQ(canonical(tree + "sites: {x: {head: a, nodes: [c, a, b]}}\n"),
            canonical(tree + "fan_out: 2\nservers: [a, b, c]\n"));
  EXPECT_EQ(canonical(graph + "edges: [c-b, b-a]\n"), canonical(graph + "edges: [a-b, b-c]\n"));
}

TEST(TopologyFile, AGraphsEdgesJoinBothWaysAndMayJoinNamesWithDashes) {
  const TopologyFile t = load("kind: graph\n" + kNodes + "edges: [c-b, b-a]\n");
  EXPECT_TRUE(t.kind->carries(t, 0, 1) && t.kind->carries(t, 1, 0) && t.kind->carries(t, 1, 2));
  EXPECT_FALSE(t.kind->carries(t, 0, 2));
  const TopologyFile dashes = load(
      "kind: graph\nnodes:\n  a-1: {address: \"tcp://127.0.0.1:1\"}\n"
      "  a-2: {address: \"tcp://127.0.0.1:2\"}\nedges: [a-1-a-2]\n");
  EXPECT_TRUE(dashes.kind->carries(dashes, 0, 1));
}

// Programs make topologies in code; what is wrong with the keys that they give is said to them.
TEST(TopologyFile, AProgramGivesAKindItsKeysAsTheyStandInAFile) {
  TopologyFile topology;
  topology.nodes.resize(2);
  topology.nodes[0].name = "a";
  topology.nodes[1].name = "b";
  EXPECT_TRUE(set_kind(topology, "tree", "fan_out: 1").empty());
  EXPECT_EQ(topology.servers, (std::vector<NodeIndex>{0, 1}));
  const auto problems = set_kind(topology, "graph", "edges: [a-c]");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "edges holds 'a-c', which joins no two nodes");
  EXPECT_EQ(set_kind(topology, "graph").size(), 1u);
}

// `servers` means something with some kinds only: nothing is said about it.
TEST(TopologyFile, AnUnknownKindIsRefusedWithTheNamesOfAllKinds) {
  const TextFile file("topology.yaml", "kind: cube\n" + kNodes + "servers: [a]\n");
  const auto problems = load_topology(file.path()).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(to_string(problems[0]),
            fmt::format("{}:1: kind is 'cube'. Write one of: {}.", file.path(),
                        fmt::join(topology_kinds().names(), ", ")));
}

TEST(TopologyFile, TheShippedRingOfFourSaysWhatItSays) {
  const auto loaded = load_topology(KIMESH_SOURCE_DIR "/topologies/ring4.yaml");
  const TopologyFile& ring = loaded.value;
  ASSERT_EQ(ring.nodes.size(), 4u);
  EXPECT_EQ(ring.kind->kind_name(), "ring");
  EXPECT_EQ(ring.nodes[2].name, "c");
  EXPECT_EQ(ring.nodes[2].address, "tcp://127.0.0.1:7103");
  EXPECT_EQ(ring.servers, (std::vector<NodeIndex>{0, 1, 2, 3}));
  EXPECT_EQ(ring.link(2, 3).rate->at(10), 500'000);
  EXPECT_EQ(ring.link(3, 0).rate->at(10), 1'000'000);
}

TEST(TopologyFile, ANodeSendsAtTheSmallerOfItsUplinkAndItsMaxRate) {
  const TopologyFile t = load(
      "kind: ring\nnodes:\n"
      "  a: {address: \"tcp://127.0.0.1:1\", max_rate: 2Mbit, uplink: 5Mbit, traffic: 50GB}\n"
      "  b: {address: \"tcp://127.0.0.1:2\", max_rate: 2Mbit}\n"
      "  c: {address: \"tcp://127.0.0.1:3\", uplink: 1Mbit}\n"
      "  d: {address: \"tcp://127.0.0.1:4\"}\n");
  EXPECT_EQ(t.nodes[0].sending_cap_bits_per_s(), 2e6);
  EXPECT_EQ(t.nodes[1].sending_cap_bits_per_s(), 2e6);
  EXPECT_EQ(t.nodes[2].sending_cap_bits_per_s(), 1e6);
  EXPECT_EQ(t.nodes[3].sending_cap_bits_per_s(), std::nullopt);
  EXPECT_EQ(t.nodes[0].traffic_bytes, 50'000'000'000u);
  EXPECT_EQ(t.nodes[3].traffic_bytes, std::nullopt);
}

}  // namespace
}  // namespace kimesh::topology_file_test
