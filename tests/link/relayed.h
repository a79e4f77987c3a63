// A link a -> b whose connection goes through a relay.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tests/link/network_fixture.h"
#include "tests/link/relay.h"

namespace kimesh {

struct Dialling {
  bool receiver_dials, encrypted;
};
// Relay::cut_at(). With `first` 0 nothing is cut.
struct Cuts {
  Relay::Way way = Relay::Way::kThere;
  std::size_t first = 0, step = 0;
};

struct Relayed {
  inline static const LinkIndex kLink = link_of(0, 1);
  TestNode a, b;
  Relay relay;

  // The end that dials does so through the relay, which holds every byte for `delay`.
  explicit Relayed(const Dialling& dialling, std::chrono::milliseconds delay = {},
                   const Cuts& cuts = {})
      : relay(delay) {
    relay.cut_at(cuts.way, cuts.first, cuts.step);
    NetworkOptions of_a = options_of(0, {1}, {}), of_b = options_of(1, {}, {0});
    of_a.redial = of_b.redial = std::chrono::milliseconds(1);
    of_a.outgoing[0].awaits = of_b.incoming[0].dials = dialling.receiver_dials;
    if (dialling.encrypted) {
      const CurvePair keys[] = {make_curve_pair(), make_curve_pair()};
      of_a.curve = CurveKeys{keys[0], {{"a", keys[0].public_key}, {"b", keys[1].public_key}}};
      of_b.curve = CurveKeys{keys[1], of_a.curve->allowed};
    }
    start(a, std::move(of_a));
    start(b, std::move(of_b));
    TestNode &dials = dialling.receiver_dials ? b : a, &listens = dialling.receiver_dials ? a : b;
    relay.lead_to(listens.network->bound_endpoint());
    dials.network->dial(kLink, relay.address());
  }
  void send(std::size_t size, std::uint64_t salt) {
    a.network->send(on(kLink, content(size, salt)));
  }
  void expect_arrival(std::size_t size, std::uint64_t salt) {
    const auto got = b.await<MessageArrived>();
    ASSERT_TRUE(got);
    EXPECT_EQ(payload_of(*got), content(size, salt));
  }
  void expect_delivery(std::size_t size, std::uint64_t salt) {
    send(size, salt);
    expect_arrival(size, salt);
    EXPECT_TRUE(a.await<MessageAcked>());
  }
};

}  // namespace kimesh
