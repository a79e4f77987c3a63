// What a link carries when it goes on sending. Behind a token bucket single messages tell more than
// that: what was saved up while the link was idle passes at line speed.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>

#include "kimesh/bandwidth/sample.h"

namespace kimesh {

// Readings: the rate of a tail that lasts at least 2 ms, else bytes over the time that a message
// took, where that is more than 3 ms and the tail explains half of it. The rest of a time is delay,
// or a process that waited for a core. A bucket helps a reading and never harms it, so that lower
// readings weigh more than higher ones: two in a row that are alike, or three of any kind, count in
// full. Others may be of a process that waited for a core in the middle of a message. A row ends
// with a message without a reading that is as large as the last one that was read, or that waited
// itself: smaller ones pass through a bucket at once, and say nothing.
// Messages too short for a reading were carried by a bucket or by a fast link, nobody knows which:
// each raises the rate by a hundredth, and by a tenth where no row of readings has told more than
// half of it, until messages are long enough to tell. Two in a row that take more than 3 ms without
// a tail to explain it take that back, down to what readings told. That in turn rises by half as
// much with each message that has a tail.
// The time of a message that began before the ack of the previous one is counted from that ack: a
// wait counts once. A message without a reading is left out where only its wait behind the previous
// one made it take more than 3 ms, or made it slower than the rate.
// Pure; thread: the core's.
class SustainedRate {
 public:
  void add(const LinkSample& sample);
  // 0: nothing known yet.
  [[nodiscard]] double bytes_per_s() const { return bytes_per_s_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bytes_per_s_, self.told_, self.row_told_, self.row_, self.row_length_,
                    self.row_bytes_, self.waited_);
  }

 private:
  [[nodiscard]] double told_by_row(double reading) const;
  void read(double reading, std::size_t bytes);
  void end_row(std::size_t bytes, bool waited);

  double bytes_per_s_ = 0;
  double told_ = 0;              // what readings alone tell
  double row_told_ = 0;          // by the last row of readings
  std::array<double, 2> row_{};  // the last readings, the newest first
  std::size_t row_length_ = 0;   // of these: in a row
  std::size_t row_bytes_ = 0;    // of the last message that was read
  // The rate of the last message that was not left out, without its wait behind the previous one.
  // 0: it did not wait.
  double waited_ = 0;
};

}  // namespace kimesh
