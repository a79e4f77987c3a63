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
  // What all links of the mesh had room for in one more round. The medians of five rounds count,
  // and what they have room for stays while it is within kAlike of them. Larger messages bring the
  // residuals of many rounds at once, which unlike data do not bear, so that messages grow slowly;
  // they shrink at once.
  void add(const BitsRoom& room) {
    coded_.add(room.coded);
    plain_.add(room.plain);
    const auto within = [&](double factor) {
      return even_bits_within({factor * coded_.value(), factor * plain_.value()});
    };
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
    return std::tie(self.coded_, self.plain_, self.target_, self.bits_);
  }
  [[nodiscard]] bool is_sound() const { return bits_ >= 0 && bits_ <= kBitsOfDense; }

 private:
  // Rates and times of coding are known within about a half where nodes share cores.
  static constexpr double kAlike = 1.5;
  static constexpr double kGrowth = 1.25;  // a round
  RecentMedian coded_, plain_;
  double target_ = 0, bits_ = 0;
};

}  // namespace kimesh
