// The bits an element that all messages have where data are unlike, as the owner of shard 0 chooses
// them (policy/even_bits.h). Thread: that of the core.
#pragma once

#include <algorithm>
#include <tuple>

#include "kimesh/policy/even_bits.h"
#include "recent_median.h"

namespace kimesh {

class AgreedBits {
 public:
  // room_for_blocks() of one more round, the least of the mesh. The median of five rounds counts,
  // and what it has room for stays while it is within kAlike of it. Larger messages bring the
  // residuals of many rounds at once, which unlike data do not bear, so that messages grow slowly;
  // they shrink at once.
  void add(double room) {
    room_.add(room);
    const auto within = [&](double factor) { return even_bits_within(factor * room_.value()); };
    // Rooms end where messages are dense.
    const bool differs =
        target_ > within(kAlike) || target_ < within(1 / kAlike) || within(1) == kBitsOfDense;
    if (differs) target_ = within(1);
    bits_ = bits_ > 0 ? std::min(kGrowth * bits_, target_) : target_;
  }
  // 0: no room was told yet.
  [[nodiscard]] double value() const { return bits_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.room_, self.target_, self.bits_);
  }
  [[nodiscard]] bool is_sound() const { return bits_ >= 0 && bits_ <= kBitsOfDense; }

 private:
  // Rates are known within about a half where nodes share cores.
  static constexpr double kAlike = 1.5;
  static constexpr double kGrowth = 1.25;  // a round
  RecentMedian room_;
  double target_ = 0, bits_ = 0;
};

}  // namespace kimesh
