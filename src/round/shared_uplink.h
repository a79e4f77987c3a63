// Finds out whether the links of a node share an uplink that bounds them. Nobody declares it.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include "kimesh/bandwidth/sample.h"

namespace kimesh {

// Where links share an uplink, one gains what the others lose: rates of tails deviate from their
// means in the opposite direction of what the other links carried in the same time. The rates of
// links of their own have nothing to do with each other, and those behind buckets rise together.
// The correlation of the two tells; small deviations say nothing.
// Pure; thread: the core's.
class SharedUplink {
 public:
  explicit SharedUplink(std::size_t links) : means_(links) {}

  // A message of the link was acked at `now`.
  void acked(std::size_t link, const LinkSample& sample, TimePoint now);
  // Compares what the links carried at the same time in this round.
  void end_round();
  [[nodiscard]] bool is_shared() const { return is_shared_; }
  [[nodiscard]] std::size_t links() const { return means_.size(); }
  // Between two rounds.
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.means_, self.own_squares_, self.others_squares_, self.products_,
                    self.seen_, self.is_shared_);
  }

 private:
  // What a link carried between two times of the sender's clock.
  struct Carried {
    std::size_t link = 0;
    TimePoint begin, end;
    double bytes = 0;
    bool is_tail = false;  // the second half of a message, else its first
    // The bytes of it that fall into another's time.
    [[nodiscard]] double within(const Carried& other) const;
  };
  struct Reading {
    double own = 0, others = 0;  // bytes/s
    template <typename Self>
    static auto state_of(Self& self) {
      return std::tie(self.own, self.others);
    }
  };
  // The last readings of a link: few, since flows come and go.
  struct Recent {
    static constexpr std::size_t kCount = 5;
    std::array<Reading, kCount> readings{};
    std::size_t count = 0;
    void add(const Reading& reading) { readings[count++ % kCount] = reading; }
    [[nodiscard]] Reading mean() const;
    template <typename Self>
    static auto state_of(Self& self) {
      return std::tie(self.readings, self.count);
    }
  };
  void compare(const Reading& reading, Recent& recent);

  std::vector<Recent> means_;  // by link
  std::vector<Carried> round_;
  // Of deviations, older ones less, and how many of them there were.
  double own_squares_ = 0, others_squares_ = 0, products_ = 0, seen_ = 0;
  bool is_shared_ = false;
};

}  // namespace kimesh
