// Strangers at the port of a node while it trains, with keys and without. Loopback only; counts and
// bytes are bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "kimesh/compress/codecs.h"
#include "kimesh/link/limits.h"
#include "kimesh/util/digest.h"
#include "tests/link/attacks.h"
#include "tests/link/network_fixture.h"
#include "tests/link/relay.h"
#include "tests/link/resident_bytes.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::attack_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

// In this order, so many steps of 10 ms each. At an encrypted port a step of all takes over half a
// second: its clients wait until they are let in.
struct Wave {
  const char* key;
  std::uint32_t steps, long_steps;
};
constexpr Wave kWaves[] = {
    {"idle", 100, 1'000}, {"churn", 200, 6'000}, {"flood", 100, 1'000}, {"fuzz", 100, 10'000},
    {"ids", 50, 1'000},   {"names", 50, 1'000},  {"all", 20, 1'000},
};
constexpr Round kRest = 10;

// By hand, at full length: KIMESH_ATTACKS=long build/release/node_test
// --gtest_filter=*UnderAttack*
bool is_long() {
  const char* attacks = std::getenv("KIMESH_ATTACKS");
  return attacks != nullptr && std::string(attacks) == "long";
}

std::uint32_t steps_of(const Wave& wave) {
  return is_long() ? wave.long_steps : static_cast<std::uint32_t>(seeds_of(wave.steps));
}

// A round waits for its links, for at least ten steps' time.
constexpr Round kStepsOfARound = 10;
Round rounds_of(const Wave& wave) {
  return std::max<Round>(steps_of(wave) / kStepsOfARound, 2);
}

MeshSpec ring() {
  MeshSpec spec;
  spec.dimension = 400;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  Round rounds = kRest + 5;
  for (const Wave& wave : kWaves) rounds += rounds_of(wave);
  spec.core.stop_rounds = rounds;
  spec.rate_bits_per_s = 5e4;
  return spec;
}

std::vector<float> undisturbed() {
  Mesh mesh(ring());
  mesh.run();
  EXPECT_TRUE(mesh.done()) << mesh.ends();
  return mesh.simulator->model();
}

// The most memory that this process has held since forget_peak().
void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}
std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> kilobytes) break;
  return 1024 * kilobytes;
}

// One wave after another, each of which begins with a round of n0 and is over before a later one.
class Siege {
 public:
  // `keys` of the mesh, empty where it is not encrypted; both outlive this.
  Siege(const Mesh& mesh, const std::vector<CurveKeys>& keys) : mesh_(mesh), keys_(keys) {}

  void round_of_n0(Round round) {
    if (round + 1 == kRest) {
      rest_ = resident_bytes();
      forget_peak();
    }
    if (round != next_round_) return;
    if (next_ > 0) end(kWaves[next_ - 1]);
    if (next_ == std::size(kWaves)) return;
    const Wave& wave = kWaves[next_++];
    next_round_ += rounds_of(wave);
    const auto is_wave = [&](const AttackKind& kind) {
      return kind.key == std::string_view(wave.key);
    };
    const auto kind = std::ranges::find_if(kAttacks, is_wave) - std::begin(kAttacks);
    attacker_.begin(static_cast<std::size_t>(kind),
                    target_of(mesh_.topology.nodes[0].address, keys_), steps_of(wave));
  }
  [[nodiscard]] bool is_over() const { return next_ == std::size(kWaves); }

 private:
  // What strangers may make a node hold is in link/limits.h, with what one connection brings
  // between two looks. On an encrypted port none gets as far as to send messages. Seen to fail:
  // without keys, with AcceptedConnections::look that ends nobody (the node holds 300 MB); with
  // keys, with 30 KB leaked for each connection (80 MB after the first wave).
  void end(const Wave& wave) {
    constexpr double kFloodMax = 100e6;  // a third of what the flood would bring otherwise
    const AttackCount count = attacker_.wait();
    EXPECT_GT(count.done, 0) << wave.key;
    EXPECT_LT(count.most_bytes_sent, kFloodMax) << wave.key << ": its connection goes on";
    const std::size_t open = kStrangersMax * (kStrangerBytesMax + kConnectionBytes) +
                             static_cast<std::size_t>(count.most_bytes_sent);
    constexpr std::size_t kEncrypted = 10 << 20;
    if (kResidentIsOurs) {
      EXPECT_LE(peak_bytes(), rest_ + (keys_.empty() ? open : kEncrypted)) << wave.key;
    }
    forget_peak();
  }

  const Mesh& mesh_;
  const std::vector<CurveKeys>& keys_;
  const Attacker attacker_;
  std::size_t rest_ = 0, next_ = 0;
  Round next_round_ = kRest;
};

class LiveUnderAttack : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(All, LiveUnderAttack, testing::Bool(), [](const auto& encrypted) {
  return encrypted.param ? "WithKeys" : "WithoutKeys";
});

// Seen to fail: frames of strangers taken for those of the node that they name, and names not
// compared with keys.
TEST_P(LiveUnderAttack, TrainsToTheSameBits) {
  Mesh live(ring());
  LiveOptions options;
  Siege siege(live, options.curves);
  options.rate_bits_per_s = live.spec.rate_bits_per_s;
  if (GetParam()) options.curves = keys_of(live.spec.nodes);
  options.on_round = [&](NodeIndex node, Round round) {
    if (node == 0) siege.round_of_n0(round);
  };
  // The decisions that run_live() records would count as memory of the nodes.
  options.on_setup = [](NodeIndex, LiveNodeSetup&, LiveNodeObserver& observer) {
    observer.decision = [](TimePoint, const Decision&) { return ok_status(); };
  };
  const LiveRun run = run_live(live, options);
  ASSERT_TRUE(run.done()) << run.text();
  EXPECT_TRUE(siege.is_over());
  if (GetParam()) {
    EXPECT_THAT(run.notices, Contains(HasSubstr("with the key of node n2"))) << run.text();
    EXPECT_THAT(run.notices, Contains(HasSubstr("whose key is not in its list"))) << run.text();
  }
  EXPECT_EQ(digest_floats(run.model(live.plan)), digest_floats(undisturbed()));
}

// What n3 says first to n0, overheard: it dials a relay that leads here, and later to n0.
Hello hello_of_n3(Relay& relay, const std::string& n0) {
  const RawServer server;
  relay.lead_to(server.endpoint());
  RawClient n3 = server.accept();
  EXPECT_TRUE(n3.greet("ROUTER"));
  const auto bytes = n3.next_frame();
  const auto hello = decode_frame(bytes);
  relay.lead_to(n0);
  if (!hello.ok() || !std::holds_alternative<Hello>(*hello)) {
    ADD_FAILURE() << "n3 says no hello";
    return {};
  }
  return std::get<Hello>(*hello);
}

// Somebody has all that a hello says but the number of the process.
TEST(StolenName, EndsNothingThoughItComesWithAllDigests) {
  Mesh live(ring());
  Relay relay;
  live.topology.nodes[0].dial = relay.address();
  Hello stolen;
  std::thread thief;
  LiveOptions options;
  options.rate_bits_per_s = live.spec.rate_bits_per_s;
  options.on_addresses = [&] {
    thief = std::thread([&] { stolen = hello_of_n3(relay, live.topology.nodes[0].address); });
  };
  options.on_round = [&](NodeIndex node, Round round) {
    if (node != 0 || round != 2) return;
    thief.join();
    ++stolen.incarnation;
    for (std::uint32_t connection : {1, 1000}) {
      stolen.connection = connection;
      RawClient client(live.topology.nodes[0].address);
      EXPECT_TRUE(client.greet() && client.frame(encode_frame(stolen)));
      EXPECT_TRUE(client.frame(encode_frame(Halt{"n3", HaltKind::kFailure, "die"})));
    }
  };
  const LiveRun run = run_live(live, options);
  ASSERT_TRUE(run.done()) << run.text();
  EXPECT_THAT(run.notices, Contains(HasSubstr("refuses a second node named n3"))) << run.text();
  EXPECT_EQ(digest_floats(run.model(live.plan)), digest_floats(undisturbed()));
}

// A member of the mesh says the name of another one, and somebody without a key of the list that of
// a member.
TEST(StolenName, CountsForNothingWithoutItsKey) {
  Mesh live(ring());
  LiveOptions options;
  options.rate_bits_per_s = live.spec.rate_bits_per_s;
  options.curves = keys_of(live.spec.nodes);
  TestNode member, outsider;
  const auto dial_as_n3 = [&](TestNode& thief, CurvePair own) {
    NetworkOptions network = options_of_impostor(live, 3);
    network.curve = CurveKeys{std::move(own), options.curves[0].allowed};
    start(thief, std::move(network));
  };
  options.on_round = [&](NodeIndex node, Round round) {
    if (node != 0) return;
    if (round == 2) {
      dial_as_n3(member, options.curves[2].own);
      dial_as_n3(outsider, make_curve_pair());
    }
    if (round == 3) {
      EXPECT_THAT(member.await<LinkRefused>()->sentence, HasSubstr("with the key of node n2"));
      EXPECT_THAT(outsider.await<PeerRefused>()->sentence, HasSubstr("refuses the key of node n3"));
    }
  };
  const LiveRun run = run_live(live, options);
  ASSERT_TRUE(run.done()) << run.text();
  EXPECT_EQ(digest_floats(run.model(live.plan)), digest_floats(undisturbed()));
}

}  // namespace
}  // namespace kimesh::test::attack_test
