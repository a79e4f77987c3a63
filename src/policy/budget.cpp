#include <algorithm>

#include "kimesh/policy/policy.h"
#include "message_size.h"

namespace kimesh {
namespace {

// Larger than any message; keeps the conversion from double defined.
constexpr double kBudgetBytesMax = 1e15;

double usable_rate(const MessageContext& message) {
  const double share = message.share_bytes_per_s;
  return share > 0 ? std::min(message.link.bytes_per_s, share) : message.link.bytes_per_s;
}

double probe_bytes(double rate, double fixed_s, double hop_s, const MessageContext& message) {
  const double by_time = kProbeHopsMax * rate * std::max(hop_s, 0.0);
  const double wanted = std::max(kProbeFixedCosts * rate * fixed_s,
                                 std::min(static_cast<double>(kProbeBytesMax), by_time));
  const double trusted = message.proven_bytes > 0
                             ? kProbeGrowthMax * static_cast<double>(message.proven_bytes)
                             : wanted;
  return std::min(std::min(wanted, trusted),
                  static_cast<double>(whole_bytes(dense_bytes(message.elements), message)));
}

}  // namespace

std::size_t budget_bytes(Duration round_time, const MessageContext& message, const Codec& codec) {
  const std::size_t floor = floor_bytes(message, codec);
  if (!message.link.known()) return std::max(floor, kFirstBudgetBytes);

  const double rate = usable_rate(message);
  const double hop_s = to_seconds(round_time - message.compute_time) / std::max(message.slots, 1u);
  const double fixed_s = std::max(to_seconds(message.link.fixed_cost), 0.0);
  double budget = rate * (hop_s - fixed_s);
  if (message.link.lower_bound) {
    if (message.proven_bytes > 0)
      budget = std::min(budget, kGrowthMax * static_cast<double>(message.proven_bytes));
    if (message.unfilled_messages > 0 && message.unfilled_messages % kProbeEvery == 0)
      budget = std::max(budget, probe_bytes(rate, fixed_s, hop_s, message));
  }
  return std::max(floor, static_cast<std::size_t>(std::clamp(budget, 0.0, kBudgetBytesMax)));
}

}  // namespace kimesh
