// Nodes of one process on loopback, and waiting for what they tell. Never sleeps: it waits on the
// event queue.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kimesh/link/network.h"

namespace kimesh {

// Far longer than anything takes: a test that waits so long has failed.
inline constexpr Duration kWaitMax = std::chrono::seconds(30);

struct TestNode {
  explicit TestNode(std::size_t capacity = 64 << 20) : events(capacity) {}

  BoundedQueue<NetworkEvent> events;
  std::vector<NetworkEvent> seen;  // passed over while waiting for another
  std::unique_ptr<Network> network;

  // The next event of type T for which `wanted` holds, seen already or to come.
  template <typename T>
  std::optional<T> await(const std::function<bool(const T&)>& wanted = [](const T&) {
    return true;
  }) {
    const auto take = [&](NetworkEvent& event) { return std::get_if<T>(&event); };
    for (auto at = seen.begin(); at != seen.end(); ++at)
      if (T* found = take(*at); found && wanted(*found)) {
        std::optional<T> result(std::move(*found));
        seen.erase(at);
        return result;
      }
    const auto end = std::chrono::steady_clock::now() + kWaitMax;
    while (std::chrono::steady_clock::now() < end) {
      auto event = events.pop_for(std::chrono::seconds(1));
      if (!event) continue;
      if (T* found = take(*event); found && wanted(*found)) return std::move(*found);
      seen.push_back(std::move(*event));
    }
    ADD_FAILURE() << "nothing came in time";
    return std::nullopt;
  }
};

inline Hello test_hello(const std::string& name, std::uint64_t incarnation = 1) {
  Hello hello;
  hello.from = name;
  hello.incarnation = incarnation;
  hello.topology_digest = 10;
  hello.config_digest = 20;
  hello.parameters_digest = 30;
  hello.build = "test";
  return hello;
}

// Node indices and link numbers of the tests: node a is 0, b is 1, c is 2; link from i to j is 10 i
// + j.
inline LinkIndex link_of(NodeIndex from, NodeIndex to) {
  return 10u * from + to;
}
inline std::string name_of(NodeIndex node) {
  return std::string(1, static_cast<char>('a' + node));
}

inline constexpr std::size_t kMessageMax = 8 << 20;

inline NetworkOptions options_of(NodeIndex self, const std::vector<NodeIndex>& to,
                                 const std::vector<NodeIndex>& from, LinkSpec spec = {}) {
  NetworkOptions options;
  options.self = self;
  options.listen = "tcp://127.0.0.1:*";
  options.hello = test_hello(name_of(self), 100u + self);
  options.heartbeat = std::chrono::milliseconds(200);
  for (const NodeIndex node : to)
    options.outgoing.push_back({link_of(self, node), node, name_of(node), "", spec});
  for (const NodeIndex node : from)
    options.incoming.push_back({link_of(node, self), node, name_of(node), kMessageMax});
  return options;
}

inline void start(TestNode& node, NetworkOptions options) {
  auto network = Network::start(std::move(options), sink_into(node.events));
  ASSERT_TRUE(network.ok()) << network.error().message;
  node.network = std::move(*network);
}

// a -> b, ready. Options may be changed before the start.
struct Pair {
  TestNode a, b;
  explicit Pair(LinkSpec spec = {}) : Pair(options_of(0, {1}, {}, spec), options_of(1, {}, {0})) {}
  // The link's `awaits` and `dials` say who dials.
  Pair(NetworkOptions of_a, NetworkOptions of_b) {
    const bool receiver_dials = of_a.outgoing.front().awaits;
    start(b, std::move(of_b));
    start(a, std::move(of_a));
    receiver_dials ? b.network->dial(link_of(0, 1), a.network->bound_endpoint()) : dial();
  }
  void dial() { a.network->dial(link_of(0, 1), b.network->bound_endpoint()); }
};

inline std::vector<std::byte> content(std::size_t size, std::uint64_t salt) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761u + salt * 97) >> 7);
  return bytes;
}

// A message with such a payload, on `link`.
inline SendMessage on(LinkIndex link, std::vector<std::byte> payload) {
  SendMessage action{link, {}, 0};
  action.message.form = Form::kDense;
  action.message.payload = Payload(std::move(payload));
  return action;
}
inline std::vector<std::byte> payload_of(const MessageArrived& event) {
  const auto bytes = event.message.payload.bytes();
  return {bytes.begin(), bytes.end()};
}

inline LinkSpec slow(double bits_per_s, Duration delay = Duration(0)) {
  LinkSpec spec;
  spec.rate = RateTrace{{{0, bits_per_s}}};
  spec.delay = delay;
  return spec;
}

}  // namespace kimesh
