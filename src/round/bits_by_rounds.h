// The bits an element that even messages of like data have, as their rounds tell it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "kimesh/policy/even_bits.h"
#include "recent_median.h"

namespace kimesh {

// The last `count` rounds in which messages had their present size. In seconds: the median and the
// mean of these rounds, the longest gradient of a round, and what a round takes besides that when
// its messages have no bytes. The first three are > 0 where `count` is.
struct RoundsOfSize {
  double median_s = 0, mean_s = 0, gradient_s = 0, besides_s = 0;
  std::size_t count = 0;
};

// Whether rounds with messages of `bits` tell nothing of what rounds take with `next`. A little
// growth does not show in their time. Every fall is judged by the rounds after it alone.
[[nodiscard]] constexpr bool is_another_size(double bits, double next) {
  constexpr double kSame = 1.05;
  return next < bits || next > kSame * bits;
}

// Chooses the bits by the length of rounds: their time over the time that they would take without
// any bytes. The rates of links do not serve for that. A link behind a token bucket is believed to
// carry ten times what it does, and a tenth of it once the bucket is empty.
//
// Messages grow while rounds are not longer than usual, and shrink when rounds are. If rounds do
// not become shorter with smaller messages, bytes were not the reason, and the messages get their
// former size back. Thread: that of the core.
class BitsByRounds {
 public:
  // Called once a round. `by_room`: even_bits_of_like_data() of the room that nodes tell. It
  // decides the first size, and whether messages are dense. `rounds`: nothing while messages are
  // not even.
  void add(double by_room, const std::optional<RoundsOfSize>& rounds) {
    const bool is_dense = by_room == kBitsOfDense || bits_ == kBitsOfDense;
    if (rests_ > 0) {
      --rests_;
    } else if (bits_ == 0 || is_dense || !rounds) {
      *this = {};
      bits_ = by_room;
    } else if (rounds->count >= kRoundsMin) {
      follow(*rounds);
    }
  }
  // Forgets the lengths of rounds. Called where rounds change for another reason than the size of
  // messages: with the number of local steps, and with the way to take gradients.
  void forget_lengths() {
    usual_ = kUsualMax;
    besides_s_ = kAnySeconds;
    bits_before_ = 0;
    is_settled_ = false;
    rounds_too_long_ = 0;
  }
  // Whether the last rounds had the usual length.
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  // 0: messages are not even.
  [[nodiscard]] double value() const { return bits_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bits_, self.rests_, self.usual_, self.besides_s_, self.has_fallen_,
                    self.is_settled_, self.rounds_too_long_, self.bits_before_,
                    self.length_before_);
  }
  [[nodiscard]] bool is_sound() const {
    const auto is_size = [](double bits) { return bits >= 0 && bits <= kBitsOfDense; };
    return is_size(bits_) && is_size(bits_before_) && usual_ > 0 && besides_s_ >= 0 &&
           length_before_ >= 0;
  }

 private:
  void follow(const RoundsOfSize& rounds) {
    // Behind an empty bucket small messages wait as well, and the delay of the way seems longer. So
    // the least of late counts.
    besides_s_ = std::min(kForgets * besides_s_, rounds.besides_s);
    const double without_s = rounds.gradient_s + besides_s_;
    const double length = rounds.median_s / without_s;
    if (bits_before_ > 0) return judge(length);
    usual_ = std::min(kForgets * usual_, length);
    const bool has_all = rounds.count == RecentMedian::kCount;
    const double over = length / usual_;
    is_settled_ = has_all && over <= kTooLong;
    rounds_too_long_ = has_all && over > kTooLong ? rounds_too_long_ + 1 : 0;
    if (over > kFarTooLong || rounds_too_long_ == kTooLongMin) return fall(length);
    // Behind a bucket a few rounds take long, and those after them are short. A median hides that.
    const double mean_length = rounds.mean_s / without_s;
    if (is_settled_ && mean_length <= kTooLong * usual_)
      bits_ = std::min((has_fallen_ ? kGrowthAfterFall : kGrowth) * bits_, kEvenBits);
  }
  // Makes messages smaller, until judge() decides. `length`: of the rounds that were too long.
  void fall(double length) {
    rounds_too_long_ = 0;
    if (bits_ <= kLeastEvenBits) {
      if (length <= kHopeless) return;
      *this = {};
      rests_ = kRests;
      return;
    }
    bits_before_ = bits_;
    length_before_ = length;
    const double factor = std::clamp(kBelow * usual_ / length, kFallMost, kFallLeast);
    bits_ = std::max(factor * bits_, kLeastEvenBits);
  }
  // Keeps the smaller messages, where rounds have become shorter by at least half of what they
  // would if their bytes were the only reason for their length. Else brings the former size back.
  void judge(double length) {
    const double expected = 1 + (length_before_ - 1) * bits_ / bits_before_;
    if (length > (length_before_ + expected) / 2) {
      bits_ = bits_before_;
      usual_ = length_before_;
    } else {
      has_fallen_ = true;
    }
    bits_before_ = 0;
  }

  // Fewer rounds tell no length: the median of three leaves one hiccup out.
  static constexpr std::size_t kRoundsMin = 3;
  // The usual length is the shortest of late, and at most this.
  static constexpr double kUsualMax = 1.1;
  // Factors of the usual length. Messages fall at once above the second, and above the first where
  // kTooLongMin medians in a row of five rounds each exceed it. These span ten rounds: a shorter
  // hiccup of a busy machine changes nothing.
  static constexpr double kTooLong = 1.15, kFarTooLong = 1.3;
  static constexpr unsigned kTooLongMin = 6;
  // By this factor a round what was the least of late rises: it may have been luck.
  static constexpr double kForgets = 1.001;
  // The length of rounds with the smallest messages, above which messages are not even for kRests
  // rounds: overlap and local steps save more time there.
  static constexpr double kHopeless = 2;
  static constexpr unsigned kRests = 50;
  // Bounds of the factor by which messages fall. It would bring rounds a tenth below their usual
  // length, if this were proportional to the bytes.
  static constexpr double kBelow = 0.9, kFallMost = 0.25, kFallLeast = 0.85;
  // Factors by which messages grow: before the first fall every time that five rounds were
  // measured, and after it every round, so that a size that was too large is tried again after some
  // 15 rounds.
  static constexpr double kGrowth = 1.25, kGrowthAfterFall = 1.01;
  static constexpr double kAnySeconds = 1e9;  // longer than all that rounds take

  double bits_ = 0;
  unsigned rests_ = 0;  // rounds that are left of kRests
  double usual_ = kUsualMax, besides_s_ = kAnySeconds;
  bool has_fallen_ = false, is_settled_ = false;
  unsigned rounds_too_long_ = 0;                // medians in a row
  double bits_before_ = 0, length_before_ = 0;  // before the last fall; 0: it is judged
};

}  // namespace kimesh
