// What a link has carried most of the time.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>

namespace kimesh {

// Where nodes wait for cores or share an interface, what a link is believed to carry jumps by a
// factor of two to five from round to round, and so would the sizes of messages. A small message
// leaves much for the next ones, and a large one then brings it all at once. Training with unlike
// data becomes slow or unstable from that (docs/experiments.md). So the present rate is clamped
// between two bounds. The upper bound is the third decile of the rates after the last 64 messages:
// a rise counts once 70 % of them show it. The lower bound is the median of the last nine, or the
// upper bound where that is lower: a fall counts from the fifth low message on, and a hiccup does
// not.
// Pure; thread: the core's.
class SteadyRate {
 public:
  static constexpr std::size_t kCount = 64, kRecent = 9;
  static constexpr double kUpperQuantile = 0.3;

  // What the link is believed to carry after one more message. Ignored unless positive and finite.
  void add(double bytes_per_s);
  // `believed_bytes_per_s`: the present rate. It is returned unchanged after fewer than kRecent
  // messages.
  [[nodiscard]] double of(double believed_bytes_per_s) const;

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.rates_, self.next_, self.count_);
  }
  [[nodiscard]] bool is_sound() const;

 private:
  std::array<double, kCount> rates_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace kimesh
