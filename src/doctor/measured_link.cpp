#include "measured_link.h"

#include <algorithm>
#include <cmath>

namespace kimesh {
namespace {

constexpr std::size_t kProbePayloadMin = 4 << 10;  // eight chunks of the least size
constexpr unsigned kSmallProbes = 4;
constexpr unsigned kGrowth = 2;         // between two larger messages
constexpr unsigned kLargestProbes = 2;  // of the largest size
constexpr double kErrorWanted = 0.05;   // relative; enough to plan with
constexpr unsigned kProbesMin = 8;      // before an estimate is believed
constexpr Duration kProbeTimeMax = std::chrono::seconds(2);

double or_zero(double value) {
  return std::isfinite(value) && value > 0 ? std::min(value, 1e15) : 0;
}

}  // namespace

Control ProbeContent::to_control() const {
  Control control{sent_s};
  if (!speed) return control;
  control[1] = 1;
  control[2] = speed->bytes_per_s;
  control[3] = speed->relative_error;
  control[4] = speed->lower_bound ? 1 : 0;
  control[5] = to_seconds(speed->round_trip);
  return control;
}

ProbeContent ProbeContent::from_control(const Control& control) {
  ProbeContent content;
  content.sent_s = or_zero(control[0]);
  if (control[1] != 1) return content;
  constexpr double kRoundTripMax = 1e6;  // seconds; a Duration holds it
  content.speed =
      LinkSpeed{or_zero(control[2]), std::min(or_zero(control[3]), 1.0), control[4] != 0,
                from_seconds(std::min(or_zero(control[5]), kRoundTripMax))};
  return content;
}

std::size_t MeasuredLink::payload_of(unsigned number) const {
  std::size_t payload = kProbePayloadMin;
  for (unsigned i = kSmallProbes; i <= number && payload < kProbePayloadMax; ++i)
    payload *= kGrowth;
  return payload;
}

std::optional<std::size_t> MeasuredLink::next_payload() const {
  const std::size_t payload = payload_of(sent_);
  if (sent_ < kSmallProbes) return payload;
  const LinkEstimate now = estimator_.estimate();
  if (now.time_of(payload) > kProbeTimeMax) return std::nullopt;
  if (sent_ < kProbesMin) return payload;
  const bool is_known = now.known() && !now.lower_bound && now.relative_error <= kErrorWanted;
  const bool was_largest = payload_of(sent_ - kLargestProbes) == kProbePayloadMax;
  return is_known || was_largest ? std::nullopt : std::optional(payload);
}

void MeasuredLink::acked(const std::optional<LinkSample>& sample) {
  if (sample) estimator_.add(*sample);
}

LinkSpeed MeasuredLink::speed() const {
  const LinkEstimate now = estimator_.estimate();
  return {now.bytes_per_s, now.relative_error, now.lower_bound, now.round_trip};
}

}  // namespace kimesh
