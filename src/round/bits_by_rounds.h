// The bits an element that even messages of like data have, as their rounds tell it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "kimesh/policy/even_bits.h"
#include "recent_median.h"

namespace kimesh {

// What the last rounds with messages of the present size took, `count` of them: the rounds, and of
// these the gradients, and what else they would take without any bytes. In seconds, the first two
// > 0 where `count` is.
struct RoundsOfSize {
  double median_s = 0, mean_s = 0, gradient_s = 0, besides_s = 0;
  std::size_t count = 0;
};

// Rates tell with what to begin, and no more. A link that saves up bytes while it is idle is
// believed to carry ten times what it does, and, once it has none left, a tenth of it. What counts
// is how long rounds are. Messages grow while rounds are not longer for it, and shrink where rounds
// are. If shorter messages make them no shorter, bytes were not the reason, and the size is brought
// back. Thread: that of the core.
class BitsByRounds {
 public:
  // Once a round. `by_rates`: even_bits_of_like_data() of the room by the rates of links.
  // `rounds`: nothing while messages do not have this size yet.
  void add(double by_rates, const std::optional<RoundsOfSize>& rounds) {
    const bool is_dense = by_rates == kBitsOfDense || bits_ == kBitsOfDense;
    if (rests_ > 0) {
      --rests_;
    } else if (bits_ == 0 || is_dense || !rounds) {
      *this = {};
      bits_ = by_rates;
    } else if (rounds->count >= kRoundsMin) {
      follow(*rounds);
    }
  }
  // Called where rounds take another time from now on for another reason, as with local steps.
  void forget_lengths() {
    usual_ = kUsualMax;
    besides_s_ = kAnySeconds;
    bits_before_ = 0;
    is_settled_ = false;
    long_ = 0;
  }
  // Whether rounds are known to be no longer for these messages, or for another reason only.
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  // Whether that was known once, since messages are even.
  [[nodiscard]] bool has_settled() const { return has_settled_; }
  // 0: messages are not even.
  [[nodiscard]] double value() const { return bits_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bits_, self.rests_, self.usual_, self.besides_s_, self.has_fallen_,
                    self.is_settled_, self.has_settled_, self.long_, self.bits_before_,
                    self.length_before_);
  }
  [[nodiscard]] bool is_sound() const {
    const auto is_size = [](double bits) { return bits >= 0 && bits <= kBitsOfDense; };
    return is_size(bits_) && is_size(bits_before_) && usual_ > 0 && besides_s_ >= 0 &&
           length_before_ >= 0;
  }

 private:
  void follow(const RoundsOfSize& rounds) {
    // Behind a bucket that is empty small messages wait as well, which seems to be the way's delay.
    besides_s_ = std::min(kForgets * besides_s_, rounds.besides_s);
    const double without_s = rounds.gradient_s + besides_s_;
    const double length = rounds.median_s / without_s;
    if (bits_before_ > 0) return judge(length);
    usual_ = std::min(kForgets * usual_, length);
    const bool has_all = rounds.count == RecentMedian::kCount;
    const double over = length / usual_;
    is_settled_ = has_all && over <= kTooLong;
    has_settled_ = has_settled_ || is_settled_;
    long_ = has_all && over > kTooLong ? long_ + 1 : 0;
    if (over > kFarTooLong || long_ == kLongMin) return fall(length);
    // Behind a bucket some rounds take long and the ones after them nothing, which a median hides.
    const double mean_length = rounds.mean_s / without_s;
    if (is_settled_ && mean_length <= kTooLong * usual_)
      bits_ = std::min((has_fallen_ ? kGrowthAfterFall : kGrowth) * bits_, kEvenBits);
  }
  void fall(double length) {
    long_ = 0;
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
  // Whether rounds are shorter for the last fall, by half of what they would be if all that they
  // take besides came from bytes.
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

  static constexpr std::size_t kRoundsMin = 3;  // one hiccup is left out
  // Lengths of rounds over those without bytes, and over the shortest ones seen.
  static constexpr double kUsualMax = 1.1, kTooLong = 1.15, kFarTooLong = 1.3;
  // So many medians in a row are of ten rounds: a machine that is busy meanwhile is no reason.
  static constexpr unsigned kLongMin = 6;
  static constexpr double kForgets = 1.001;  // a round: the shortest one may have been luck
  // A length with the smallest messages: local steps and overlap hide their time better.
  static constexpr double kHopeless = 2;
  // A fall goes a tenth below what would bring the usual length back, if links carry so many bytes
  // in a round and no more.
  static constexpr double kBelow = 0.9, kFallMost = 0.25, kFallLeast = 0.85;
  // Before the first fall per measurement of five rounds. Afterwards per round: a size that
  // was too large is tried again after some 15 rounds.
  static constexpr double kGrowth = 1.25, kGrowthAfterFall = 1.01;

  static constexpr double kAnySeconds = 1e9;
  static constexpr unsigned kRests = 50;  // rounds until even messages are tried again

  double bits_ = 0;
  unsigned rests_ = 0;
  double usual_ = kUsualMax, besides_s_ = kAnySeconds;  // the least of late
  bool has_fallen_ = false, is_settled_ = false, has_settled_ = false;
  unsigned long_ = 0;                           // medians in a row that were too long
  double bits_before_ = 0, length_before_ = 0;  // of the last fall, until it is judged; 0: none is
};

}  // namespace kimesh
