// The bits an element that all messages have, as the owner of shard 0 chooses them
// (policy/even_bits.h). Thread: that of the core.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>

#include "bits_by_rounds.h"
#include "kimesh/policy/even_bits.h"
#include "recent_median.h"

namespace kimesh {

class AgreedBits {
 public:
  // One more round of a mesh with unlike data. `room`: the least that a node tells
  // (ControlVector::room_for_even_messages). Bits follow from the median room of five rounds, and
  // stay while they suit rooms within a factor kAlike of it. They rise slowly, since a larger
  // message brings the residuals of many rounds at once, which unlike data do not bear, and fall at
  // once.
  void add_of_unlike_data(double room) {
    begin(room, true);
    const auto within = [&](double factor) {
      return even_bits_of_unlike_data(factor * room_.value());
    };
    // Rooms end where messages are dense.
    const bool differs =
        target_ > within(kAlike) || target_ < within(1 / kAlike) || within(1) == kBitsOfDense;
    if (differs) target_ = within(1);
    bits_ = bits_ > 0 ? std::min(kGrowth * bits_, target_) : target_;
  }
  // One more round of a mesh with like data. `rounds`: as in BitsByRounds.
  void add_of_like_data(double room, const std::optional<RoundsOfSize>& rounds) {
    begin(room, false);
    by_rounds_.add(even_bits_of_like_data(room_.value()), rounds);
    bits_ = by_rounds_.value();
  }
  void forget_lengths() { by_rounds_.forget_lengths(); }
  // As in BitsByRounds, for like data.
  [[nodiscard]] bool are_settled() const { return by_rounds_.is_settled(); }
  // 0: no room was told yet, or messages are not even.
  [[nodiscard]] double value() const { return bits_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.are_unlike_, self.room_, self.target_, self.bits_, self.by_rounds_);
  }
  [[nodiscard]] bool is_sound() const { return bits_ >= 0 && bits_ <= kBitsOfDense; }

 private:
  void begin(double room, bool data_are_unlike) {
    if (data_are_unlike != are_unlike_) *this = {};  // what there was room for is another question
    are_unlike_ = data_are_unlike;
    room_.add(room);
  }

  // Rates are known within about a half where nodes share cores.
  static constexpr double kAlike = 1.5;
  static constexpr double kGrowth = 1.25;  // factor of a round, by which bits rise at most
  bool are_unlike_ = false;
  RecentMedian room_;
  double target_ = 0, bits_ = 0;
  BitsByRounds by_rounds_;
};

}  // namespace kimesh
