// What the messages of a round tell of the factors of gravac: gains from their curves, times from
// their links.
#include <algorithm>
#include <array>
#include <cmath>

#include "kimesh/policy/gravac.h"
#include "message_size.h"

namespace kimesh {
namespace {

using Gain = GravacOptions::Gain;

// The payload of a message with this budget, on the average.
std::size_t payload_of(const Budget& budget, std::size_t elements, const Codec& codec) {
  if (budget.is_dense()) return dense_bytes(elements);
  if (budget.kind == Budget::Kind::kBytes) return budget.payload_bytes();
  return codec.bytes_about(budget.elements(), elements);
}

// Adds what messages of these budgets would leave out, by budget.
void add_missing(const MessageObservation& message, std::span<const Budget> budgets,
                 const GravacRules& rules, std::span<double> missing) {
  if (!rules.codec.traits().keeps_largest) {
    std::vector<double> payloads;
    for (const Budget& budget : budgets)
      payloads.push_back(static_cast<double>(payload_of(budget, message.elements, rules.codec)));
    const Rounding rounding =
        message.is_compressed_again ? Rounding::kTowardsZero : Rounding::kNearest;
    const auto left = rules.codec.missing_within(*message.curve, payloads, rounding);
    for (std::size_t i = 0; i < budgets.size(); ++i)
      missing[i] += budgets[i].is_dense() ? 0 : left[i];
    return;
  }
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    if (budgets[i].is_dense()) continue;
    const double kept = rules.filled * static_cast<double>(budgets[i].elements());
    const double share = kept / static_cast<double>(message.elements);
    for (const PieceCurve& piece : *message.curve)
      missing[i] += piece.missing_energy(share * static_cast<double>(piece.size));
  }
}

// The energy that the messages of a phase had to send, and what they would leave out of it.
struct Sum {
  double before = 0;
  std::vector<double> missing;  // by factor
  bool measured = false;

  [[nodiscard]] double gain(std::size_t factor) const {
    return before > 0 ? std::clamp(1 - missing[factor] / before, 0.0, 1.0) : 1.0;
  }
};

double harmonic_mean(double a, double b) {
  return a + b > 0 ? 2 * a * b / (a + b) : 0;
}

}  // namespace

double gravac_factor(double theta, Phase phase, const GravacRules& rules) {
  const bool is_sum = rules.gain == Gain::kPaper && phase == Phase::kGather;
  return is_sum ? std::max(1.0, theta / rules.nodes) : theta;
}

Budget gravac_budget(double factor, std::size_t elements, const Codec& codec) {
  if (elements == 0 || factor <= 1) return {};
  const double share = 1 / factor;
  if (codec.traits().keeps_largest) {
    const double wanted = std::round(share * static_cast<double>(elements));
    const auto keep = std::max(floor_keep(elements), static_cast<std::uint32_t>(wanted));
    return codec.bytes_max(keep, elements) < dense_bytes(elements) ? Budget::keep(keep) : Budget{};
  }
  const double wanted = share * static_cast<double>(dense_bytes(elements));
  const auto bytes = std::max(floor_payload(codec, elements), static_cast<std::size_t>(wanted));
  return bytes < dense_bytes(elements) ? Budget::bytes(bytes) : Budget{};
}

std::vector<GravacView> view_factors(std::span<const double> thetas,
                                     std::span<const MessageObservation> messages,
                                     const GravacRules& rules) {
  std::array<Sum, 2> sums;  // reduces, gathers
  for (Sum& sum : sums) sum.missing.resize(thetas.size());
  std::vector<double> longest(thetas.size());
  bool links_known = !messages.empty();
  for (const MessageObservation& message : messages) {
    std::vector<Budget> budgets;
    for (const double theta : thetas)
      budgets.push_back(
          gravac_budget(gravac_factor(theta, message.phase, rules), message.elements, rules.codec));
    links_known = links_known && message.cost.known();
    for (std::size_t i = 0; i < thetas.size() && links_known; ++i)
      longest[i] = std::max(longest[i],
                            message.cost.of(payload_of(budgets[i], message.elements, rules.codec)));
    const bool counts = rules.gain == Gain::kContraction || message.phase == Phase::kReduce;
    if (!counts || message.curve == nullptr || message.curve->empty()) continue;
    const double before = energy_of(*message.curve);
    if (!std::isfinite(before)) continue;
    Sum& sum = sums[message.phase == Phase::kGather ? 1 : 0];
    sum.before += before;
    sum.measured = true;
    add_missing(message, budgets, rules, sum.missing);
  }
  std::vector<GravacView> views(thetas.size());
  for (std::size_t i = 0; i < thetas.size(); ++i) {
    if (links_known) views[i].round_s = longest[i];
    const auto& [reduces, gathers] = sums;
    if (reduces.measured && gathers.measured)
      views[i].gain = harmonic_mean(reduces.gain(i), gathers.gain(i));
    else if (reduces.measured || gathers.measured)
      views[i].gain = (reduces.measured ? reduces : gathers).gain(i);
  }
  return views;
}

}  // namespace kimesh
