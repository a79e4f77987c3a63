#include "kimesh/bandwidth/sending_pace.h"

#include <algorithm>

namespace kimesh {
namespace {

// A message was carried at its pace where its tail had this share of it.
constexpr double kCarried = 0.97;
// Some of several flows that meet are carried at their pace as well, by chance.
constexpr unsigned kCarriedInARow = 3;

}  // namespace

void SendingPace::add(const LinkSample& sample, double pace_bytes_per_s) {
  const double tail_s = to_seconds(sample.tail_time);
  if (pace_bytes_per_s <= 0 || sample.sender_limited || tail_s < kTailSecondsMin) return;
  const bool carried =
      static_cast<double>(sample.tail_bytes) >= kCarried * pace_bytes_per_s * tail_s;
  carried_ = carried ? carried_ + 1 : 0;
  if (!carried)
    headroom_ = kHeadroomMin;
  else if (carried_ >= kCarriedInARow)
    headroom_ = std::min(1 + 2 * (headroom_ - 1), kHeadroomMax);
}

}  // namespace kimesh
