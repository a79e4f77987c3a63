// What a link carries when it goes on sending. Behind a token bucket single messages tell more than
// that: what was saved up while the link was idle passes at line speed.
#pragma once

#include <tuple>

#include "kimesh/bandwidth/sample.h"

namespace kimesh {

// Readings: the rate of a tail that lasts at least 2 ms, else bytes over the time that a message
// took, where that is more than 3 ms and the tail explains half of it. The rest of a time is delay,
// or a process that waited for a core. A bucket helps a reading and never harms it, so that lower
// readings weigh more than higher ones: two in a row count in full. A single one may be a hiccup of
// the machine. Shorter messages were carried by a bucket or by a fast link, nobody knows which:
// each raises the rate by a hundredth, until messages are long enough to tell. Two in a row that
// take more than 3 ms without a tail to explain it take that back, down to what readings told.
// Pure; thread: the core's.
class SustainedRate {
 public:
  void add(const LinkSample& sample);
  // 0: nothing known yet.
  [[nodiscard]] double bytes_per_s() const { return bytes_per_s_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bytes_per_s_, self.told_, self.previous_);
  }

 private:
  double bytes_per_s_ = 0;
  double told_ = 0;      // what readings alone tell
  double previous_ = 0;  // of the message before, its reading or bytes over its time
};

}  // namespace kimesh
