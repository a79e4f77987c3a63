// Messages whose budgets tests know.
#pragma once

#include <cmath>
#include <limits>

#include "kimesh/policy/policy.h"
#include "kimesh/util/random.h"
#include "tests/settings.h"

namespace kimesh {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 MB/s, no fixed cost, surely known; 100,000 elements; 2 slots.
inline MessageContext known_link() {
  MessageContext message;
  message.elements = 100'000;
  message.round = 7;
  message.link = {1e6, 0.01, Duration{0}, false};
  message.share_bytes_per_s = kInfinity;
  return message;
}

// A message of 400 kB when dense, in rounds of 100 ms; the coder takes 1 us a byte.
inline MessageContext coded_at(double bytes_per_s) {
  MessageContext message = known_link();
  message.round_time = std::chrono::milliseconds(100);
  message.slots = message.hops = 2;
  message.encode_s_per_byte = 1e-6;
  message.timed_encodings = 3;
  message.round_time_is_searched = true;
  message.link.bytes_per_s = bytes_per_s;
  return message;
}

inline std::size_t topk_budget_bytes(Duration round_time, const MessageContext& message) {
  return budget_bytes(round_time, message, *make_codec("topk"));
}

inline MessageContext random_message(Random& random) {
  const auto draw = [&](double least, double most) {
    return least * std::pow(most / least, random.uniform());
  };
  MessageContext message;
  message.elements = static_cast<std::size_t>(draw(1, 1e8));
  message.overhead_bytes = random.below(500);
  message.chunk_overhead_bytes = random.below(64);
  message.round = random.next_u32();
  message.link.bytes_per_s = random.below(10) == 0 ? 0 : draw(10, 1e11);
  message.link.relative_error = random.uniform();
  message.link.fixed_cost = Duration(static_cast<std::int64_t>(draw(1, 1e10)) - 1'000'000);
  message.link.lower_bound = random.below(2) == 0;
  message.share_bytes_per_s = random.below(2) == 0 ? kInfinity : draw(10, 1e10);
  message.slots = 1 + random.below(2'000);
  message.hops = 1 + random.below(message.slots);
  message.compute_time = Duration(static_cast<std::int64_t>(draw(1, 1e10)));
  message.work_time = Duration(static_cast<std::int64_t>(draw(1, 1e8)));
  message.encode_s_per_byte = random.below(2) == 0 ? 0 : draw(1e-9, 1e-6);
  message.link.round_trip = Duration(static_cast<std::int64_t>(draw(1, 1e9)));
  message.proven_bytes = random.below(3) == 0 ? 0 : static_cast<std::size_t>(draw(1, 1e10));
  message.unfilled_messages = random.below(40);
  return message;
}

}  // namespace kimesh
