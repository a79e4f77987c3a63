// The bits an element that all messages have, as the owner of shard 0 chooses them
// (policy/even_bits.h). Thread: that of the core.
#pragma once

#include <algorithm>
#include <tuple>

#include "kimesh/policy/even_bits.h"
#include "recent_median.h"

namespace kimesh {

class AgreedBits {
 public:
  // `room`: the least room_for_even_messages() of the mesh in one more round. `room_by_rounds`: the
  // room that follows from what the last rounds took, or kBitsOfDense where they do not tell it. It
  // bounds `room`, also in later rounds, in which the bound rises slowly: messages that are too
  // large make several rounds longer. The bits follow from the median room of five rounds, and stay
  // while they suit rooms within a factor kAlike of it. They rise slowly, since a larger message
  // brings the residuals of many rounds at once, which unlike data do not bear, and fall at once.
  void add(double room, double room_by_rounds, bool data_are_unlike) {
    if (data_are_unlike != are_unlike_) *this = {};  // what there was room for is another question
    are_unlike_ = data_are_unlike;
    bound_ = std::min(kForgets * bound_, room_by_rounds);
    room_.add(std::min(room, bound_));
    const auto within = [&](double factor) {
      const double part = factor * room_.value();
      return data_are_unlike ? even_bits_of_unlike_data(part) : even_bits_of_like_data(part);
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
    return std::tie(self.are_unlike_, self.room_, self.bound_, self.target_, self.bits_);
  }
  [[nodiscard]] bool is_sound() const { return bits_ >= 0 && bits_ <= kBitsOfDense; }

 private:
  // Rates are known within about a half where nodes share cores.
  static constexpr double kAlike = 1.5;
  // Factors of a round, by which bits and the bound rise at most.
  static constexpr double kGrowth = 1.25, kForgets = 1.02;
  bool are_unlike_ = false;
  RecentMedian room_;
  double bound_ = kBitsOfDense, target_ = 0, bits_ = 0;
};

}  // namespace kimesh
