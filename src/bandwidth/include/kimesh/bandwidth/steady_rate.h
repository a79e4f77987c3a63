// What a link has carried most of the time.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>

namespace kimesh {

// Where nodes wait for cores or share an interface, what a link is believed to carry jumps by a
// factor of two to five from round to round, and so would the sizes of messages. A small message
// leaves much for the next ones, and a large one then brings it all at once. Unlike data do not
// bear that (docs/figures.md). So the present belief is held between two bounds. It is at most the
// third decile of the last 64 messages' beliefs, which are about 30 rounds: a rise counts slowly.
// It is at least the median of the last nine, where that is lower: a fall counts from the fifth
// message on, and hiccups do not.
// Pure; thread: the core's.
class SteadyRate {
 public:
  static constexpr std::size_t kCount = 64, kRecent = 9;
  static constexpr double kQuantile = 0.3;

  // What the link is believed to carry after one more message. Ignored unless positive and finite.
  void add(double bytes_per_s);
  // `now`: what it is believed to carry at present. `now` itself after fewer than kRecent messages.
  [[nodiscard]] double of(double now) const;

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.rates_, self.next_, self.count_);
  }
  [[nodiscard]] bool is_sound() const { return next_ < kCount && count_ <= kCount; }

 private:
  std::array<double, kCount> rates_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace kimesh
