// A link on which one chunk takes longer than dead_after: its bytes are signs of life of the node
// that sends them, until no more come. What strangers send is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kimesh/bandwidth/sample.h"
#include "tests/link/raw_client.h"
#include "tests/link/relay.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::slow_link_test {
namespace {

using testing::ContainsRegex;

constexpr std::chrono::seconds kDeadAfter{2};
constexpr std::chrono::milliseconds kEvery{250};
// A chunk takes twice as long as dead_after.
constexpr int kTimesOfHalfAChunk = kDeadAfter / kEvery;
constexpr std::ptrdiff_t kAtOnce = kChunkBytesMax / (2 * kTimesOfHalfAChunk);

// The server n0 sends n1 the parameters, in chunks of the largest size, through the relay.
struct SlowLink {
  Mesh mesh;
  Relay relay;
  LiveOptions options;
  SlowLink() : mesh(spec()) {
    mesh.topology.dead_after = kDeadAfter;
    mesh.topology.nodes[1].dial = relay.address();
    options.on_addresses = [this] { relay.lead_to(mesh.topology.nodes[1].address); };
  }
  static MeshSpec spec() {
    MeshSpec spec;
    spec.kind = "parameter_server";
    spec.nodes = 2;
    spec.servers = {0};
    spec.dimension = 7 * kChunkBytesMax / sizeof(float);  // 8 chunks, all of which the relay holds
    spec.core.policy = {policy_options("none"), nullptr};
    spec.core.stop_rounds = 2;
    return spec;
  }
  void expect_silence() {
    const LiveRun run = run_live(mesh, options);
    for (const auto& end : run.ends) {
      ASSERT_TRUE(end) << run.text();
      EXPECT_EQ(end->outcome, Outcome::kFailed);
      EXPECT_THAT(end->text, ContainsRegex("(node n0|link n0->n1) has been silent for"))
          << run.text();
    }
  }
};

// Seen to fail: whole frames as the only signs of life.
TEST(LiveSlowLink, AChunkThatTakesLongerThanDeadAfterEndsNoRun) {
  SlowLink slow;
  slow.relay.keep({Relay::Way::kThere, kAtOnce, kEvery, 3 * kTimesOfHalfAChunk});
  const LiveRun run = run_live(slow.mesh, slow.options);
  EXPECT_TRUE(run.done()) << run.text();
}

// Its connection stands, as that of a process that is stopped, once its kernel has sent what it
// holds. Seen to fail (it never ended): bytes
// compared with those of the first look in place of the last sign.
TEST(LiveSlowLink, ANodeWhoseChunkStopsComingIsSilent) {
  SlowLink slow;
  slow.relay.keep({Relay::Way::kThere, kAtOnce, kEvery, kTimesOfHalfAChunk, true});
  slow.expect_silence();
}

// They come as fast as those that kept the run alive above. Seen to fail (it never ended): the
// bytes of all accepted connections counted, without a bound.
TEST(LiveSlowLink, StrangersBytesKeepNoSilentNodeAlive) {
  SlowLink slow;
  slow.relay.keep({Relay::Way::kThere, kAtOnce, kEvery, kTimesOfHalfAChunk, true});
  Relay to_port;
  to_port.keep({Relay::Way::kThere, kAtOnce, kEvery, std::numeric_limits<int>::max()});
  std::atomic<bool> ended{false};
  std::atomic<int> frames{0};
  std::thread stranger;
  slow.options.on_addresses = [&] {
    const std::string& address = slow.mesh.topology.nodes[1].address;
    slow.relay.lead_to(address);
    to_port.lead_to(address);
    stranger = std::thread([&] {
      const std::vector<std::byte> bytes(kAtOnce);
      while (!ended) {
        RawClient client(to_port.address());
        if (!client.greet()) {
          std::this_thread::yield();  // the port is not there yet, or not any more
          continue;
        }
        while (!ended && client.frame(bytes)) ++frames;
      }
    });
  };
  slow.expect_silence();
  ended = true;
  stranger.join();
  EXPECT_GT(frames, 0);
}

}  // namespace
}  // namespace kimesh::test::slow_link_test
