// Nodes that are started again at different moments: one that dials again takes a refusal of a node
// for the end of an earlier run, until a message was exchanged.
#include "network_fixture.h"

namespace kimesh::rejoin_test {
namespace {

NetworkOptions of_process(NetworkOptions options, std::uint64_t incarnation) {
  options.hello.incarnation = incarnation;
  return options;
}

// b has exchanged a message with an earlier process of a, which has ended since.
struct Abandoned {
  TestNode b;
  std::string endpoint;
  Abandoned() {
    start(b, options_of(1, {}, {0}));
    endpoint = b.network->bound_endpoint();
    TestNode a;
    start(a, of_process(options_of(0, {1}, {}), 7));
    a.network->dial(link_of(0, 1), endpoint);
    EXPECT_TRUE(a.await<LinkUp>());
    a.network->send(on(link_of(0, 1), content(100, 1)));
    EXPECT_TRUE(b.await<MessageArrived>());
  }
  // Another process takes the place of b.
  void restart() {
    b.network.reset();
    NetworkOptions options = of_process(options_of(1, {}, {0}), 9);
    options.listen = endpoint;
    start(b, std::move(options));
  }
};

// Seen to fail: PeerLeft left out where a connection ends.
TEST(Rejoin, WhoHasLeftIsToldOf) {
  Abandoned mesh;
  const auto left = mesh.b.await<PeerLeft>();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->node, 0u);
}

// Seen to fail: the link closed for good.
TEST(Rejoin, WhoDialsAgainIsLetInByTheNextProcessOfTheNodeThatRefusedIt) {
  Abandoned mesh;
  ASSERT_TRUE(mesh.b.await<PeerLeft>());
  TestNode a;
  NetworkOptions options = of_process(options_of(0, {1}, {}), 8);
  options.dials_again = true;
  start(a, std::move(options));
  a.network->dial(link_of(0, 1), mesh.endpoint);
  const auto refused = a.await<PeerRefused>();
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->sentence, testing::HasSubstr("was restarted"));
  EXPECT_EQ(refused->node, 1u);
  EXPECT_TRUE(refused->is_proven) << "it is where the topology says that b is";
  mesh.restart();
  EXPECT_TRUE(a.await<LinkUp>());
  EXPECT_TRUE(mesh.b.await<PeerArrived>());
}

// Without the option the sentence is final, as it is once a message was exchanged.
TEST(Rejoin, AnyoneElseEndsWithTheSentence) {
  Abandoned mesh;
  ASSERT_TRUE(mesh.b.await<PeerLeft>());
  TestNode a;
  start(a, of_process(options_of(0, {1}, {}), 8));
  a.network->dial(link_of(0, 1), mesh.endpoint);
  EXPECT_TRUE(a.await<LinkRefused>());
}

TEST(Rejoin, OnceAMessageWasExchangedARestartIsFinal) {
  TestNode a, b;
  start(b, options_of(1, {}, {0}));
  const std::string endpoint = b.network->bound_endpoint();
  NetworkOptions options = options_of(0, {1}, {});
  options.dials_again = true;
  start(a, std::move(options));
  a.network->dial(link_of(0, 1), endpoint);
  ASSERT_TRUE(a.await<LinkUp>());
  a.network->send(on(link_of(0, 1), content(100, 1)));
  ASSERT_TRUE(a.await<MessageAcked>());
  b.network.reset();
  options = of_process(options_of(1, {}, {0}), 9);
  options.listen = endpoint;
  start(b, std::move(options));
  EXPECT_TRUE(a.await<PeerRestarted>());
}

}  // namespace
}  // namespace kimesh::rejoin_test
