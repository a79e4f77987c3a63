// The messages that measure one outgoing link.
#pragma once

#include <optional>

#include "kimesh/bandwidth/estimator.h"
#include "kimesh/doctor/doctor.h"
#include "kimesh/events/links.h"

namespace kimesh {

// What a message of a doctor says, in its control values.
struct ProbeContent {
  double sent_s = 0;               // the sender's clock, seconds since 1970
  std::optional<LinkSpeed> speed;  // the last message: what the ones before it told
  [[nodiscard]] Control to_control() const;
  // Whatever a peer sent: numbers that cannot be count as unknown.
  static ProbeContent from_control(const Control& control);
};

// The largest message of a measurement: a quarter of a second at 128 Mbit/s.
inline constexpr std::size_t kProbePayloadMax = 4 << 20;

// Pure. Messages go one after another, each once the one before is acked: first four of the least
// size, whose times tell the fixed cost, then larger ones, until the rate is known to
// kErrorWanted, the next would take longer than kProbeTimeMax, or the largest was sent twice.
class MeasuredLink {
 public:
  // The payload of the next message; nothing: the measurement is over, and speed() is to be sent.
  [[nodiscard]] std::optional<std::size_t> next_payload() const;
  void sent() { ++sent_; }
  void acked(const std::optional<LinkSample>& sample);
  [[nodiscard]] LinkSpeed speed() const;

 private:
  [[nodiscard]] std::size_t payload_of(unsigned number) const;
  LinkEstimator estimator_;
  unsigned sent_ = 0;
};

}  // namespace kimesh
