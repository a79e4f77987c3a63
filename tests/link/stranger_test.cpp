// Peers that are not kimesh, or are kimesh gone wrong: plain ZeroMQ sockets against a node.
#include <zmq.h>

#include <string_view>

#include "kimesh/util/random.h"
#include "tests/link/network_fixture.h"

namespace kimesh::stranger_test {
namespace {

using testing::HasSubstr;

const LinkIndex kAtoB = link_of(0, 1);

class Stranger {
 public:
  explicit Stranger(const std::string& endpoint) {
    const int linger = 0, patience = 10'000;
    zmq_setsockopt(socket_, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(zmq_connect(socket_, endpoint.c_str()), 0);
  }
  ~Stranger() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  void say(std::span<const std::byte> bytes, bool more = false) {
    ASSERT_GE(zmq_send(socket_, bytes.data(), bytes.size(), more ? ZMQ_SNDMORE : 0), 0);
  }
  void say(const Frame& frame, bool more = false) { say(encode_frame(frame), more); }
  void say(const Frame& frame, RunTag tag) { say(encode_frame(frame, tag)); }
  // The next frame of this type, which is among the first few: a node that does not send it sends
  // heartbeats for ever.
  template <typename T>
  std::optional<T> hear() {
    constexpr int kFramesMax = 20;
    std::vector<std::byte> buffer(kFrameBytesMax);
    for (int frames = 0; frames < kFramesMax; ++frames) {
      const int size = zmq_recv(socket_, buffer.data(), buffer.size(), 0);
      if (size < 0) {
        ADD_FAILURE() << "no answer";
        return std::nullopt;
      }
      const auto frame = decode_frame(std::span(buffer).first(static_cast<std::size_t>(size)));
      if (frame.ok() && std::holds_alternative<T>(*frame)) return std::get<T>(*frame);
    }
    ADD_FAILURE() << "other answers";
    return std::nullopt;
  }

 private:
  void* context_ = zmq_ctx_new();
  void* socket_ = zmq_socket(context_, ZMQ_DEALER);
};

Hello hello_of_a() {
  Hello hello = test_hello("a", 100);
  hello.to = "b";
  return hello;
}

Chunk first_chunk(std::uint16_t count, std::span<const std::byte> bytes) {
  Chunk chunk;
  chunk.sequence = 1;
  chunk.count = count;
  chunk.bytes = bytes;
  return chunk;
}

std::vector<std::byte> whole_message(const std::vector<std::byte>& payload) {
  Message message;
  message.payload = Payload(payload);
  std::vector<std::byte> bytes = encode_message_head(message);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

struct Alone : testing::Test {
  TestNode b;
  void SetUp() override { start(b, options_of(1, {}, {0})); }
};

// Seen to fail: frames of unknown connections handled as the first link's.
TEST_F(Alone, FramesBeforeAHelloAreDropped) {
  Stranger stranger(b.network->bound_endpoint());
  stranger.say(first_chunk(1, content(3, 1)));
  stranger.say(Halt{"a", HaltKind::kFailure, "die"});
  stranger.say(Bye{"a"});
  stranger.say(hello_of_a());
  const auto message = whole_message(content(4, 2));
  stranger.say(first_chunk(1, message));
  EXPECT_EQ(payload_of(*b.await<MessageArrived>()), content(4, 2));
  for (const NetworkEvent& event : b.seen) {
    EXPECT_FALSE(std::holds_alternative<PeerHalted>(event));
    EXPECT_FALSE(std::holds_alternative<PeerBye>(event));
  }
}

// Seen to fail: tags not compared (the bye is believed).
TEST_F(Alone, AFrameOfAnotherRunOrViewIsDroppedAndSaidOnce) {
  Stranger stranger(b.network->bound_endpoint());
  stranger.say(hello_of_a());
  EXPECT_TRUE(stranger.hear<Welcome>());
  for (const RunTag tag : {RunTag{1, 0}, RunTag{0, 1}}) {
    stranger.say(Bye{"a"}, tag);
    stranger.say(first_chunk(1, content(9, 1)), tag);
  }
  const auto message = whole_message(content(4, 2));
  stranger.say(first_chunk(1, message));
  EXPECT_EQ(payload_of(*b.await<MessageArrived>()), content(4, 2));
  std::size_t said = 0;
  for (const NetworkEvent& event : b.seen) {
    EXPECT_FALSE(std::holds_alternative<PeerBye>(event));
    const auto* refused = std::get_if<PeerRefused>(&event);
    if (!refused) continue;
    EXPECT_THAT(refused->sentence, HasSubstr("node a sends frames of another run"));
    ++said;
  }
  EXPECT_EQ(said, 1u);
}

// Seen to fail: Hello::connection not compared (the older connection takes the link over).
TEST_F(Alone, AHelloOfAnEarlierConnectionThatComesLateIsPassedOver) {
  Stranger newer(b.network->bound_endpoint()), older(b.network->bound_endpoint());
  Hello hello = hello_of_a();
  hello.connection = 2;
  newer.say(hello);
  EXPECT_EQ(newer.hear<Welcome>()->connection, 2u);
  hello.connection = 1;
  older.say(hello);
  older.say(Bye{"a"});
  hello.config_digest = 1;
  older.say(hello);
  EXPECT_TRUE(older.hear<Refuse>());  // so that what came before has been read
  const auto message = whole_message(content(4, 2));
  newer.say(first_chunk(1, message));
  EXPECT_EQ(payload_of(*b.await<MessageArrived>()), content(4, 2));
  for (const NetworkEvent& event : b.seen) EXPECT_FALSE(std::holds_alternative<PeerBye>(event));
}

TEST_F(Alone, AMalformedFrameEndsItsConnectionWithASentence) {
  const auto ends = [&](auto misbehave) {
    Stranger stranger(b.network->bound_endpoint());
    stranger.say(hello_of_a());
    EXPECT_TRUE(stranger.hear<Welcome>());
    misbehave(stranger);
    const auto refused = stranger.hear<Refuse>();
    return refused ? refused->sentence : std::string();
  };
  EXPECT_THAT(ends([](Stranger& s) { s.say(content(50, 3)); }), HasSubstr("no frame of kimesh"));
  EXPECT_THAT(ends([](Stranger& s) { s.say(std::span<const std::byte>()); }),
              HasSubstr("without its head"));
  EXPECT_THAT(ends([](Stranger& s) {
                s.say(Heartbeat{}, true);
                s.say(Heartbeat{}, true);
                s.say(Heartbeat{});
              }),
              HasSubstr("several parts"));
  for (const Frame& answer :
       {Frame(Welcome{"a", 1}), Frame(Refuse{"no"}), Frame(Ack{}), Frame(Applied{})})
    EXPECT_THAT(ends([&](Stranger& s) { s.say(answer); }), HasSubstr("only a receiver says"))
        << answer.index();
  EXPECT_THAT(ends([](Stranger& s) {
                const auto bytes = content(1'000'000, 1);
                Chunk chunk = first_chunk(9, bytes);
                for (; chunk.index < chunk.count; ++chunk.index) s.say(chunk);
              }),
              HasSubstr("a message of over 8388608 bytes"));
  EXPECT_THAT(ends([](Stranger& s) {
                Chunk chunk = first_chunk(1, {});
                chunk.sequence = 7;
                s.say(chunk);
              }),
              HasSubstr("message 7 before message 1"));
  EXPECT_THAT(ends([](Stranger& s) { s.say(first_chunk(1, std::vector(30, std::byte{0xff}))); }),
              HasSubstr("a message with unknown flags"));
  EXPECT_THAT(b.await<PeerRefused>()->sentence, HasSubstr("node a"));
}

TEST_F(Alone, AnotherVersionIsRefusedWithASentenceAboutVersions) {
  Stranger stranger(b.network->bound_endpoint());
  Hello hello = hello_of_a();
  hello.protocol = kWireVersion + 1;
  auto bytes = encode_frame(hello);
  bytes[2] = std::byte{2};
  stranger.say(bytes);
  EXPECT_THAT(stranger.hear<Refuse>()->sentence, HasSubstr("the versions differ"));
}

// Whoever scans ports may say any name. Seen to fail: one limit for the sentences about strangers
// and about peers.
TEST_F(Alone, ManyStrangersDoNotKeepBackWhyAPeerIsRefused) {
  constexpr int kStrangers = 100;
  for (int i = 0; i < kStrangers; ++i) {
    Stranger stranger(b.network->bound_endpoint());
    Hello hello = test_hello("stranger" + std::to_string(i));
    hello.to = "b";
    stranger.say(hello);
    EXPECT_TRUE(stranger.hear<Refuse>());
  }
  Stranger a(b.network->bound_endpoint());
  Hello hello = hello_of_a();
  ++hello.config_digest;
  a.say(hello);
  EXPECT_TRUE(a.hear<Refuse>());
  const auto refused =
      b.await<PeerRefused>([](const PeerRefused& event) { return event.node == 0u; });
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->sentence, HasSubstr("the configs differ"));
  EXPECT_FALSE(refused->is_proven);
}

TEST_F(Alone, GarbageOfManyKindsDoesNoHarm) {
  constexpr std::uint64_t kSeed = 31;
  Random random(kSeed, 0, 0, Purpose::kTest);
  Stranger stranger(b.network->bound_endpoint());
  const auto bytes = content(100, 1);
  const std::vector<Frame> frames{hello_of_a(),
                                  first_chunk(1, bytes),
                                  Ack{},
                                  Applied{},
                                  Halt{"a", HaltKind::kUserStop, ""},
                                  Bye{"a"},
                                  Heartbeat{}};
  for (int i = 0; i < 3000; ++i) {
    auto frame = encode_frame(frames[random.below(static_cast<std::uint32_t>(frames.size()))]);
    if (random.below(2) == 0)
      frame[random.below(static_cast<std::uint32_t>(frame.size()))] =
          static_cast<std::byte>(random.below(256));
    stranger.say(frame, random.below(8) == 0);
  }
  stranger.say(Heartbeat{});
  // Behind all of it, an honest peer is served. The garbage may have said hello for a before: same
  // incarnation or not.
  TestNode c;
  start(c, options_of(2, {1}, {}));
  c.network->dial(link_of(2, 1), b.network->bound_endpoint());
  EXPECT_THAT(c.await<LinkRefused>()->sentence, HasSubstr("node c is unknown")) << "seed " << kSeed;
}

// What the dialling node says of a ROUTER that answers its hello with `answers`.
std::string refusal_after(const std::vector<std::vector<std::byte>>& answers) {
  void* context = zmq_ctx_new();
  void* router = zmq_socket(context, ZMQ_ROUTER);
  EXPECT_EQ(zmq_bind(router, "tcp://127.0.0.1:*"), 0);
  char endpoint[64];
  std::size_t size = sizeof endpoint;
  zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &size);
  TestNode a;
  start(a, options_of(0, {1}, {}));
  a.network->dial(kAtoB, endpoint);
  char id[64], hello[1024];
  const int id_size = zmq_recv(router, id, sizeof id, 0);
  EXPECT_GT(zmq_recv(router, hello, sizeof hello, 0), 0);
  for (const std::vector<std::byte>& answer : answers) {
    zmq_send(router, id, static_cast<std::size_t>(id_size), ZMQ_SNDMORE);
    zmq_send(router, answer.data(), answer.size(), 0);
  }
  const auto refused = a.await<LinkRefused>();
  const int linger = 0;
  zmq_setsockopt(router, ZMQ_LINGER, &linger, sizeof linger);
  zmq_close(router);
  zmq_ctx_term(context);
  return refused ? refused->sentence : std::string();
}

// Seen to fail with a chunk passed over.
TEST(Network, AFarSideThatAnswersWithNonsenseIsNotDialledAnyMore) {
  EXPECT_THAT(refusal_after({content(8, 1)}), HasSubstr("not what kimesh sends"));
  const auto welcome = encode_frame(Welcome{"b", 1, 1});
  const auto bytes = content(9, 1);
  EXPECT_THAT(refusal_after({welcome, encode_frame(hello_of_a())}),
              HasSubstr("only a sender says"));
  EXPECT_THAT(refusal_after({welcome, encode_frame(first_chunk(1, bytes))}),
              HasSubstr("only a sender says"));
}

}  // namespace
}  // namespace kimesh::stranger_test
