// Links to nodes whose address is a name. A lookup may take long, fail, and find another address
// than last time. Seen to fail: a lookup in the network's thread (HoldsUp), one address alone
// (Tries, Finds), none after the first one (IsMadeAnew), an answer that ends a connection (Leaves).
#include <fmt/format.h>

#include <atomic>
#include <future>
#include <thread>

#include "kimesh/link/free_ports.h"
#include "src/link/endpoint.h"
#include "tests/link/break_connection.h"
#include "tests/link/network_fixture.h"

namespace kimesh::name_lookup_test {
namespace {

using Addresses = std::vector<std::string>;

// A node that listens on one address of this machine, as which a name may be looked up.
struct Listening {
  TestNode node;
  explicit Listening(const std::string& address, NodeIndex self = 1) {
    NetworkOptions options = options_of(self, {}, {0});
    options.listen = "tcp://" + address + ":*";
    start(node, std::move(options));
  }
  [[nodiscard]] std::string named(const std::string& name) const {
    return with_host(node.network->bound_endpoint(), name);
  }
};

struct Dialling {
  TestNode node;
  explicit Dialling(Resolver resolve, const std::vector<NodeIndex>& to = {1}) {
    NetworkOptions options = options_of(0, to, {});
    options.redial = std::chrono::milliseconds(5);
    options.resolve = std::move(resolve);
    start(node, std::move(options));
  }
  void send(Listening& to, const std::string& name, NodeIndex index = 1) {
    node.network->dial(link_of(0, index), to.named(name));
    node.network->send(on(link_of(0, index), content(3000, 1)));
  }
};

// A resolver that waits for its test, as one does whose servers do not answer.
class Held {
 public:
  ~Held() { release(); }
  [[nodiscard]] Resolver resolver(const std::string& held) {
    return [held, asked = asked_, end = end_.get_future().share()](const std::string& name) {
      if (name == held) {
        if (!asked->exchange(true)) asked->notify_all();
        end.wait();
      }
      return Addresses{"127.0.0.1"};
    };
  }
  void await_question() const { asked_->wait(false); }
  void release() {
    if (!std::exchange(released_, true)) end_.set_value();
  }

 private:
  std::shared_ptr<std::atomic<bool>> asked_ = std::make_shared<std::atomic<bool>>(false);
  std::promise<void> end_;
  bool released_ = false;
};

TEST(NameLookup, HoldsUpNoOtherLink) {
  Held held;
  Listening b("127.0.0.1"), c("127.0.0.1", 2);
  Dialling a(held.resolver("slow"), {1, 2});
  a.send(c, "slow", 2);
  held.await_question();
  a.send(b, "quick");
  EXPECT_TRUE(b.node.await<MessageArrived>());
  held.release();
  EXPECT_TRUE(c.node.await<MessageArrived>());
}

TEST(NameLookup, HoldsUpNoEnd) {
  Held held;
  Listening b("127.0.0.1");
  Dialling a(held.resolver("slow"));
  a.send(b, "slow");
  held.await_question();
  std::promise<void> ended;
  std::thread end([&] {
    a.node.network->flush(kWaitMax);
    a.node.network.reset();
    ended.set_value();
  });
  EXPECT_EQ(ended.get_future().wait_for(kWaitMax), std::future_status::ready);
  held.release();  // its answer goes nowhere
  end.join();
}

TEST(NameLookup, IsMadeAnewForEveryTry) {
  Listening b("127.0.0.2");
  const auto times = std::make_shared<std::atomic<int>>(0);
  Dialling a([times](const std::string&) {
    const int time = times->fetch_add(1);
    if (time < 2) return Addresses{};  // nothing is known at first, and later on for a while
    if (time == 3) return Addresses{};
    return Addresses{time < 5 ? "127.0.0.1" : "127.0.0.2"};
  });
  a.send(b, "moves");
  EXPECT_TRUE(b.node.await<MessageArrived>());
}

TEST(NameLookup, TriesAllAddressesOfAName) {
  Listening b("127.0.0.2");
  Dialling a([](const std::string&) { return Addresses{"127.0.0.1", "127.0.0.2", "127.0.0.3"}; });
  a.send(b, "three");
  EXPECT_TRUE(b.node.await<MessageArrived>());
}

// Seen to fail where the next address is dialled at once.
TEST(NameLookup, PausesBetweenAddresses) {
  constexpr int kLookups = 6;
  constexpr Duration kRedial = std::chrono::milliseconds(20);
  const auto asked = std::make_shared<std::atomic<int>>(0);
  NetworkOptions options = options_of(0, {1}, {});
  options.redial = kRedial;
  options.resolve = [asked](const std::string&) {
    ++*asked;
    asked->notify_all();
    return Addresses{"127.0.0.1", "127.0.0.2"};
  };
  TestNode a;
  start(a, std::move(options));
  const auto begun = std::chrono::steady_clock::now();
  a.network->dial(link_of(0, 1), fmt::format("tcp://nobody:{}", free_ports(1)->front()));
  for (int seen = 0; seen < kLookups; seen = *asked) asked->wait(seen);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, (kLookups - 2) * kRedial);
}

// What a lookup finds late does not end the connection that was made meanwhile.
TEST(NameLookup, LeavesAConnectionAlone) {
  const std::vector<int> port = *free_ports(1);
  ASSERT_EQ(port.size(), 1u);
  const std::string at = fmt::format(":{}", port.front());
  Held held;
  Dialling a([first = std::make_shared<std::atomic<bool>>(true),
              later = held.resolver("b")](const std::string& name) {
    if (first->exchange(false)) return Addresses{"127.0.0.1"};
    later(name);
    return Addresses{"127.0.0.2"};
  });
  a.node.network->dial(link_of(0, 1), "tcp://b" + at);
  held.await_question();  // nobody was there
  TestNode b;
  NetworkOptions options = options_of(1, {}, {0});
  options.listen = "tcp://127.0.0.1" + at;
  start(b, std::move(options));
  constexpr int kMessages = 50;
  for (int i = 0; i < kMessages; ++i) {
    a.node.network->send(on(link_of(0, 1), content(3000, 1)));
    ASSERT_TRUE(b.await<MessageArrived>());
    if (i == 0) held.release();
  }
  while (const auto event = a.node.events.try_pop())
    EXPECT_FALSE(std::holds_alternative<LinkDown>(*event));
}

TEST(NameLookup, FindsWhereTheNodeIsAfterACut) {
  Listening b("127.0.0.1");
  Dialling a([](const std::string&) { return Addresses{"127.0.0.2", "127.0.0.1"}; });
  a.send(b, "two");
  EXPECT_TRUE(b.node.await<MessageArrived>());
  NetworkBreaker::cut(*a.node.network, link_of(0, 1));
  a.node.network->send(on(link_of(0, 1), content(3000, 2)));
  EXPECT_TRUE(b.node.await<MessageArrived>());
}

TEST(NameLookup, OfADialledSender) {
  NetworkOptions of_a = options_of(0, {1}, {});
  of_a.outgoing.front().awaits = true;
  NetworkOptions of_b = options_of(1, {}, {0});
  of_b.incoming.front().dials = true;
  of_b.resolve = [](const std::string&) { return Addresses{"127.0.0.1"}; };
  TestNode a, b;
  start(a, std::move(of_a));
  start(b, std::move(of_b));
  b.network->dial(link_of(0, 1), with_host(a.network->bound_endpoint(), "sender"));
  a.network->send(on(link_of(0, 1), content(3000, 1)));
  EXPECT_TRUE(b.await<MessageArrived>());
}

TEST(NameLookup, ReadsTheHostOfAnEndpoint) {
  EXPECT_EQ(name_in("tcp://alpha:7101"), "alpha");
  for (const char* number : {"tcp://192.0.2.9:7101", "tcp://*:7101", "tcp://[fd00::1]:7101",
                             "tcp://127.0.0.5:0;127.0.0.1:7101"})
    EXPECT_EQ(name_in(number), "");
  EXPECT_EQ(with_host("tcp://alpha:7101", "[fd00::7]"), "tcp://[fd00::7]:7101");
}

}  // namespace
}  // namespace kimesh::name_lookup_test
