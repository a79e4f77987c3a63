// A node with several addresses, of which a link names the one where it is dialled.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/digest.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::interfaces_test {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

// Of the connections that stand on this machine, how many were dialled at each 127.0.0.N of this
// port: by N, as the kernel tells.
std::map<unsigned, int> dialled_at(const std::string& port) {
  std::map<unsigned, int> found;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number, near, far, state;
    words >> number >> near >> far >> state;
    constexpr std::size_t kAddress = 8;  // digits, the last byte first
    const std::string wanted = fmt::format(":{:04X}", std::stoi(port));
    if (state != "01" || far.substr(kAddress) != wanted) continue;
    if (far.substr(2, kAddress - 2) == "00007F") ++found[std::stoul(far.substr(0, 2), nullptr, 16)];
  }
  return found;
}

MeshSpec star() {
  MeshSpec spec;
  spec.kind = "parameter_server";
  spec.servers = {0};
  spec.dimension = 400;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  spec.core.stop_rounds = 20;
  return spec;
}

// n0 listens on all addresses: n1 and n3 dial the one that it names for all, n2 the one of its own
// link, and n3 a third one for the link back, which it opens as well. Seen to fail: addresses of
// links ignored, and taken by all links to the node.
TEST(Interfaces, ALinkGoesOverTheAddressThatItNames) {
  Mesh simulated(star()), live(star());
  simulated.run();
  ASSERT_TRUE(simulated.done()) << simulated.ends();
  LiveOptions options;
  options.hosts = {"tcp://0.0.0.0", "tcp://127.0.0.1", "tcp://127.0.0.1", "tcp://127.0.0.1"};
  std::string port;
  options.on_addresses = [&] {
    const std::string& address = live.topology.nodes[0].address;
    port = address.substr(address.rfind(':') + 1);
    live.topology.nodes[0].dial = "tcp://127.0.0.2:" + port;
    live.topology.links = {{0, 3, {}, {DialledBy::kReceiver, "tcp://127.0.0.4:" + port}},
                           {2, 0, {}, {DialledBy::kSender, "tcp://127.0.0.3:" + port}}};
  };
  std::map<unsigned, int> dialled;
  options.on_round = [&](NodeIndex node, Round round) {
    if (node == 0 && round == 10) dialled = dialled_at(port);
  };
  const LiveRun run = run_live(live, options);
  ASSERT_TRUE(run.done()) << run.text();
  EXPECT_THAT(dialled, UnorderedElementsAre(Pair(2, 2), Pair(3, 1), Pair(4, 1)));
  EXPECT_EQ(digest_floats(run.model(live.plan)), digest_floats(simulated.simulator->model()));
}

}  // namespace
}  // namespace kimesh::test::interfaces_test
