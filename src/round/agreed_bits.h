// The bits an element that all messages have, as the owner of shard 0 chooses them
// (policy/even_bits.h). Thread: that of the core.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "kimesh/policy/even_bits.h"
#include "recent_median.h"

namespace kimesh {

class AgreedBits {
 public:
  // room_for_even() of one more round, the least of the mesh, and the room by what the last rounds
  // took (kBitsOfDense: they tell none). The latter bounds what rates seem to have room for, and is
  // forgotten slowly: messages for which there is no room make several rounds longer. The median of
  // five rounds counts, and what it has room for stays while it is within kAlike of it. Larger
  // messages bring the residuals of many rounds at once, which unlike data do not bear, so that
  // messages grow slowly; they shrink at once.
  void add(double room, double room_by_rounds, bool data_are_unlike) {
    if (std::exchange(are_unlike_, data_are_unlike) != data_are_unlike) {
      room_ = {};
      bound_ = kBitsOfDense;
      target_ = bits_ = 0;
    }
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
  static constexpr double kGrowth = 1.25, kForgets = 1.02;  // a round
  bool are_unlike_ = false;
  RecentMedian room_;
  double bound_ = kBitsOfDense, target_ = 0, bits_ = 0;
};

}  // namespace kimesh
