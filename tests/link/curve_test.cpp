// Encrypted links: who is let in, who is not, and what it costs.
#include <fmt/format.h>
#include <zmq.h>

#include <atomic>

#include "src/link/endpoint.h"
#include "tests/link/break_connection.h"
#include "tests/link/network_fixture.h"
#include "tests/own_host.h"

namespace kimesh::curve_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const LinkIndex kAtoB = link_of(0, 1);

// The pairs of nodes a, b and c; `stranger` is in no list.
struct Mesh {
  CurvePair pairs[3] = {make_curve_pair(), make_curve_pair(), make_curve_pair()};
  CurvePair stranger = make_curve_pair();

  [[nodiscard]] CurveKeys keys(NodeIndex node) const {
    CurveKeys keys{pairs[node], {}};
    for (NodeIndex i = 0; i < 3; ++i) keys.allowed[name_of(i)] = pairs[i].public_key;
    return keys;
  }
  [[nodiscard]] NetworkOptions options(NodeIndex self, const std::vector<NodeIndex>& to,
                                       const std::vector<NodeIndex>& from) const {
    NetworkOptions options = options_of(self, to, from);
    options.curve = keys(self);
    return options;
  }
  [[nodiscard]] NetworkOptions a() const { return options(0, {1}, {}); }
  [[nodiscard]] NetworkOptions b() const { return options(1, {}, {0, 2}); }
};

void expect_training_goes_on(Pair& pair) {
  pair.a.network->send(on(kAtoB, content(100'000, 3)));
  const auto got = pair.b.await<MessageArrived>();
  ASSERT_TRUE(got);
  EXPECT_EQ(payload_of(*got), content(100'000, 3));
  for (const TestNode* node : {&pair.a, &pair.b})
    for (const NetworkEvent& event : node->seen) {
      EXPECT_FALSE(std::holds_alternative<PeerHalted>(event));
      EXPECT_FALSE(std::holds_alternative<LinkRefused>(event));
      EXPECT_FALSE(std::holds_alternative<PeerRestarted>(event));
      EXPECT_FALSE(std::holds_alternative<LinkDown>(event));
    }
}

std::size_t refusals(const TestNode& node) {
  return static_cast<std::size_t>(std::ranges::count_if(node.seen, [](const NetworkEvent& event) {
    return std::holds_alternative<PeerRefused>(event);
  }));
}

// Seen to fail: the server's option not set (a's handshake ends over the mechanism).
TEST(Curve, AMeshWithKeysDeliversAlsoAfterACut) {
  const Mesh mesh;
  Pair pair(mesh.a(), mesh.b());
  ASSERT_TRUE(pair.a.await<LinkUp>());
  for (std::size_t i = 0; i < 20; ++i) {
    pair.a.network->send(on(kAtoB, content(50'000, i)));
    const auto got = pair.b.await<MessageArrived>();
    ASSERT_TRUE(got) << i;
    EXPECT_EQ(payload_of(*got), content(50'000, i));
    if (i == 9) NetworkBreaker::cut(*pair.a.network, kAtoB);
  }
  EXPECT_TRUE(pair.a.await<LinkDown>());
  EXPECT_EQ(refusals(pair.a) + refusals(pair.b), 0u);
}

// Whoever answers at an address may be another node than the one that the name now stands for.
// Seen to fail: the name not looked up after a handshake that failed.
TEST(Curve, ANameIsLookedUpAgainWhereItsAddressDeniesTheKey) {
  const Mesh mesh;
  NetworkOptions of_a = mesh.a(), of_b = mesh.b();
  const std::string first_host = test::own_host(), second_host = test::own_host(128);
  of_b.listen = "tcp://" + second_host + ":*";
  TestNode a, b, earlier;
  start(b, std::move(of_b));
  const std::string endpoint = b.network->bound_endpoint();
  NetworkOptions denies = mesh.b();  // an earlier process, say, whose list lacked a
  denies.curve->allowed.erase("a");
  denies.listen = with_host(endpoint, first_host);
  start(earlier, std::move(denies));
  of_a.resolve = [=, first = std::make_shared<std::atomic<bool>>(true)](const std::string&) {
    return std::vector{first->exchange(false) ? first_host : second_host};
  };
  start(a, std::move(of_a));
  a.network->dial(kAtoB, with_host(endpoint, "b"));
  a.network->send(on(kAtoB, content(3000, 1)));
  EXPECT_TRUE(b.await<MessageArrived>());
}

// Seen to fail: the framing of NULL counted; HELLO and INITIATE left out.
void expect_counters_of_tcp(Pair& pair) {
  ASSERT_TRUE(pair.a.await<LinkUp>());
  std::vector<std::size_t> sizes{0, 100, 200, 5'000, 300'000, 2'000'000};
  // Frames whose length ZeroMQ writes in one byte where they are not encrypted.
  sizes.insert(sizes.end(), 40, 240 - kChunkHeadBytes - message_bytes(0, 0));
  for (const std::size_t size : sizes) {
    pair.a.network->send(on(kAtoB, content(size, 0)));
    ASSERT_TRUE(pair.a.await<MessageAcked>());
  }
  const LinkCounters counters = pair.a.network->counters(kAtoB);
  const auto tcp = counters.tcp_bytes_sent - counters.tcp_bytes_retransmitted;
  EXPECT_LE(tcp, counters.frame_bytes);
  EXPECT_GE(tcp + 100, counters.frame_bytes);  // heartbeats that are counted and not sent yet
}

TEST(Curve, ItsCountersAreWhatTcpCarriedToTheByte) {
  const Mesh mesh;
  Pair pair(mesh.a(), mesh.b());
  expect_counters_of_tcp(pair);
}

// Seen to fail, by 266 bytes, with the handshake of a DEALER counted.
TEST(Curve, ItsCountersAreWhatTcpCarriedWhereTheReceiverDials) {
  const Mesh mesh;
  NetworkOptions of_a = mesh.a(), of_b = mesh.b();
  of_a.outgoing[0].awaits = of_b.incoming[0].dials = true;
  Pair pair(std::move(of_a), std::move(of_b));
  expect_counters_of_tcp(pair);
}

// What b says of a dialling node with `keys`, and what that node hears, while a trains with b.
struct Attempt {
  std::string there, here;
};
Attempt attempt(const Mesh& mesh, NetworkOptions options) {
  Pair pair(mesh.a(), mesh.b());
  EXPECT_TRUE(pair.a.await<LinkUp>());
  EXPECT_TRUE(pair.b.await<PeerArrived>());
  TestNode other;
  start(other, std::move(options));
  other.network->dial(link_of(2, 1), pair.b.network->bound_endpoint());
  Attempt attempt;
  const auto here = other.await<PeerRefused>();
  const auto there = pair.b.await<PeerRefused>();
  if (here) attempt.here = here->sentence;
  if (there) {
    attempt.there = there->sentence;
    EXPECT_FALSE(there->node);
  }
  expect_training_goes_on(pair);
  EXPECT_EQ(refusals(pair.b), 0u) << "each sentence once";
  return attempt;
}

// Seen to fail: an answerer that lets every key in.
TEST(Curve, AKeyThatIsNotInTheListIsRefusedAndBothSidesLearnWhy) {
  const Mesh mesh;
  NetworkOptions options = mesh.options(2, {1}, {});
  options.curve->own = mesh.stranger;
  const Attempt made = attempt(mesh, std::move(options));
  EXPECT_THAT(made.here,
              AllOf(HasSubstr("node b at tcp://127.0.0.1:"), HasSubstr("refuses the key of node c"),
                    HasSubstr("list of public")));
  EXPECT_THAT(made.there, AllOf(HasSubstr("node b refuses a connection from 127.0.0.1, whose key"),
                                HasSubstr("list of public keys")));
}

// Who scans ports comes from many addresses. Seen to fail: a sentence for each of them.
TEST(Curve, StrangersAreToldOfOnceWhereverTheyComeFrom) {
  const Mesh mesh;
  TestNode b;
  start(b, mesh.b());
  const std::string place = b.network->bound_endpoint().substr(std::string("tcp://").size());
  for (const char* from : {"127.0.0.5", "127.0.0.6", "127.0.0.7"}) {
    NetworkOptions options = mesh.options(2, {1}, {});
    options.curve->own = mesh.stranger;
    TestNode stranger;
    start(stranger, std::move(options));
    stranger.network->dial(link_of(2, 1), fmt::format("tcp://{}:0;{}", from, place));
    EXPECT_TRUE(stranger.await<PeerRefused>());
  }
  EXPECT_THAT(b.await<PeerRefused>()->sentence, HasSubstr("from 127.0.0.5"));
  while (auto event = b.events.try_pop()) b.seen.push_back(std::move(*event));
  EXPECT_EQ(refusals(b), 0u);
}

// Seen to fail: the sentence said of the protocol's errors alone.
TEST(Curve, ANodeWithAnotherKeyThanTheListSaysIsNotTrusted) {
  const Mesh mesh;
  NetworkOptions options = mesh.options(2, {1}, {});
  options.curve->allowed["b"] = mesh.stranger.public_key;
  const Attempt made = attempt(mesh, std::move(options));
  EXPECT_THAT(made.here, HasSubstr("does not hold the key that the list gives to b"));
  EXPECT_THAT(made.there, HasSubstr("not encrypted for its key"));
}

// Which of the two sees first that the other differs, and hangs up, is chance: the node that dials
// hears of it always.
TEST(Curve, ANodeThatDoesNotEncryptIsRefusedAndLearnsWhy) {
  const Mesh mesh;
  Pair pair(mesh.a(), mesh.b());
  ASSERT_TRUE(pair.a.await<LinkUp>());
  TestNode plain;
  start(plain, options_of(2, {1}, {}));
  plain.network->dial(link_of(2, 1), pair.b.network->bound_endpoint());
  EXPECT_THAT(plain.await<PeerRefused>()->sentence,
              HasSubstr("wants encrypted links, and this node has security: none"));
  expect_training_goes_on(pair);
  for (const NetworkEvent& event : pair.b.seen) {
    const auto* refused = std::get_if<PeerRefused>(&event);
    EXPECT_THAT(refused ? refused->sentence : "not encrypted for its key",
                HasSubstr("not encrypted for its key"));
  }
}

// Seen to fail: the hello's name believed.
TEST(Curve, ANodeThatSaysAnothersNameIsRefused) {
  const Mesh mesh;
  Pair pair(mesh.a(), mesh.b());
  ASSERT_TRUE(pair.a.await<LinkUp>());
  NetworkOptions options = mesh.options(2, {1}, {});
  options.hello = test_hello("a", 100);  // as a says it
  TestNode thief;
  start(thief, std::move(options));
  thief.network->dial(link_of(2, 1), pair.b.network->bound_endpoint());
  EXPECT_THAT(thief.await<LinkRefused>()->sentence, HasSubstr("with the key of node c"));
  EXPECT_THAT(pair.b.await<PeerRefused>()->sentence,
              HasSubstr("says it is node a with the key of node c"));
  expect_training_goes_on(pair);
}

// It is dialled again, since it may be started anew. Seen to fail: without the redial (hangs).
TEST(Curve, AServerThatDoesNotEncryptIsNotTrustedAndIsDialledUntilItDoes) {
  const Mesh mesh;
  TestNode b, a;
  start(b, options_of(1, {}, {0}));
  start(a, mesh.a());
  const std::string place = b.network->bound_endpoint();
  a.network->dial(kAtoB, place);
  EXPECT_THAT(a.await<PeerRefused>()->sentence,
              AllOf(HasSubstr(place), testing::AnyOf(HasSubstr("does not encrypt, and this node"),
                                                     HasSubstr("does not hold the key"))));
  b.network.reset();
  NetworkOptions options = mesh.b();
  options.listen = place;
  TestNode again;
  start(again, std::move(options));
  EXPECT_TRUE(a.await<LinkUp>());
  EXPECT_LE(refusals(a), 1u);  // whichever of the two sentences came second
}

// A node of the mesh, with its key, and a routing id of its choice; it speaks for c only.
class Insider {
 public:
  Insider(const Mesh& mesh, const std::string& endpoint, const std::string& routing_id) {
    const int linger = 0, patience = 10'000;
    zmq_setsockopt(socket_, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(socket_, ZMQ_ROUTING_ID, routing_id.data(), routing_id.size());
    zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, mesh.pairs[1].public_key.data(), kCurveKeyChars);
    zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, mesh.pairs[2].public_key.data(), kCurveKeyChars);
    zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, mesh.pairs[2].secret_key.data(), kCurveKeyChars);
    EXPECT_EQ(zmq_connect(socket_, endpoint.c_str()), 0);
  }
  ~Insider() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  void say(const Frame& frame) {
    const auto bytes = encode_frame(frame);
    ASSERT_GE(zmq_send(socket_, bytes.data(), bytes.size(), 0), 0);
  }
  std::optional<Frame> hear() {
    std::vector<std::byte> buffer(kFrameBytesMax);
    const int size = zmq_recv(socket_, buffer.data(), buffer.size(), 0);
    if (size < 0) return std::nullopt;
    auto frame = decode_frame(std::span(buffer).first(static_cast<std::size_t>(size)));
    return frame.ok() ? std::optional(std::move(*frame)) : std::nullopt;
  }

 private:
  void* context_ = zmq_ctx_new();
  void* socket_ = zmq_socket(context_, ZMQ_DEALER);
};

Hello hello_to_b(const std::string& from, std::uint64_t incarnation) {
  Hello hello = test_hello(from, incarnation);
  hello.to = "b";
  return hello;
}

// A peer chooses its routing id, and b knows its connections by them. Seen to fail: frames counted
// by the routing id alone (b hears a halt of a).
TEST(Curve, AnIdOfAConnectionThatHasEndedMakesAPeerNoOtherNode) {
  const Mesh mesh;
  TestNode b;
  start(b, mesh.b());
  const std::string place = b.network->bound_endpoint();
  Mesh as_a = mesh;
  std::swap(as_a.pairs[0], as_a.pairs[2]);  // an Insider with the key of a
  {
    Insider a(as_a, place, "one");
    a.say(hello_to_b("a", 7));
    EXPECT_TRUE(a.hear());
    ASSERT_TRUE(b.await<PeerArrived>());
  }
  Insider c(mesh, place, "one");
  c.say(Halt{"a", HaltKind::kFailure, "die"});
  c.say(hello_to_b("c", 8));
  while (const auto frame = c.hear())
    if (std::holds_alternative<Welcome>(*frame)) break;
  EXPECT_EQ(b.await<PeerArrived>()->node, 2);
  for (const NetworkEvent& event : b.seen) EXPECT_FALSE(std::holds_alternative<PeerHalted>(event));
}

TEST(Curve, KeysAreTextsOfFortyCharacters) {
  const CurvePair pair = make_curve_pair();
  EXPECT_TRUE(is_curve_key(pair.public_key));
  EXPECT_EQ(*public_key_of(pair.secret_key), pair.public_key);
  for (const std::string& bad :
       {std::string(), std::string(39, '0'), std::string(41, '0'), std::string(40, '"'),
        std::string(40, '\0'), std::string(5, '0') + std::string(35, '\0')}) {
    EXPECT_FALSE(is_curve_key(bad));
    EXPECT_FALSE(public_key_of(bad).ok());
  }
}

// The key proves who it is. Seen to fail: a claim that counts no more than one without a key.
TEST(Curve, ARestartedNodeIsKnownByItsKey) {
  const Mesh mesh;
  Pair pair(mesh.a(), mesh.b());
  ASSERT_TRUE(pair.a.await<LinkUp>());
  pair.a.network->send(on(kAtoB, content(100, 0)));
  ASSERT_TRUE(pair.a.await<MessageAcked>());
  pair.a.network.reset();
  for (std::uint64_t incarnation = 500;; ++incarnation) {
    NetworkOptions options = mesh.a();
    options.hello.incarnation = incarnation;
    TestNode again;
    start(again, std::move(options));
    again.network->dial(kAtoB, pair.b.network->bound_endpoint());
    const auto refused = again.await<LinkRefused>();
    ASSERT_TRUE(refused);
    if (refused->sentence.find("second node") == std::string::npos) break;  // b knows of the end
  }
  const auto restarted = pair.b.await<PeerRestarted>();
  ASSERT_TRUE(restarted);
  EXPECT_EQ(restarted->node, 0);
}

// Seen to fail: `is_proven` without keys as well, and never.
TEST(Curve, ThatTwoNodesDifferIsProvenByTheirKeys) {
  const Mesh mesh;
  for (const bool encrypted : {true, false}) {
    NetworkOptions a = encrypted ? mesh.a() : options_of(0, {1}, {});
    a.hello.config_digest = 1;
    Pair pair(std::move(a), encrypted ? mesh.b() : options_of(1, {}, {0}));
    const auto refused = pair.b.await<PeerRefused>();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->node, NodeIndex{0});
    EXPECT_EQ(refused->is_proven, encrypted);
  }
}

// A node may wait for others while a doctor looks at its links: that ends neither.
TEST(Curve, ADoctorIsNoNodeThatDiffers) {
  const Mesh mesh;
  NetworkOptions doctor = mesh.a();
  doctor.hello.config_digest = doctors_config_digest();
  Pair pair(std::move(doctor), mesh.b());
  const auto refused = pair.b.await<PeerRefused>();
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->node);
  EXPECT_FALSE(refused->is_proven);
  EXPECT_THAT(refused->sentence, HasSubstr("one of the two runs kimesh doctor"));
}

}  // namespace
}  // namespace kimesh::curve_test
