#include <fmt/format.h>

#include <algorithm>

#include "kimesh/run/predict.h"
#include "kimesh/util/units.h"

namespace kimesh {
namespace {

constexpr double kSecondsPerHour = 3600, kBytesPerGb = 1e9;

std::string assumptions(const Prediction& prediction, const SimulatedCosts& costs) {
  const bool endless = std::ranges::any_of(
      prediction.links, [](const PredictedLink& link) { return link.rate_bits_per_s == 0; });
  return fmt::format(
      "Simulated over {} rounds, with noise for gradients. Assumed: a gradient takes {} "
      "(--compute),\n"
      "traces run at their mean rates, nobody evaluates and nothing fails.{}\n",
      prediction.rounds, format_duration(costs.gradient),
      endless ? "\nLinks without a declared rate are taken as endless." : "");
}

}  // namespace

std::string prediction_text(const Prediction& prediction, const RunConfig& config, const Plan& plan,
                            const SimulatedCosts& costs) {
  const auto& stop = config.stop.rounds;
  const double rounds = stop ? *stop : kSecondsPerHour / prediction.round_s;
  std::string text = fmt::format("prediction\n  {:<14}{}\n", "round",
                                 format_duration(from_seconds(prediction.round_s)));
  if (stop)
    text +=
        fmt::format("  {:<14}{:.3f} h, if no other condition ends it before\n",
                    fmt::format("{} rounds", *stop), rounds * prediction.round_s / kSecondsPerHour);
  const auto width = std::ranges::max(plan.view.nodes, {}, &std::string::size).size();
  text += fmt::format("\n  {:<{}}   {:>12}   {:>9}   busy\n", "link", 2 * width + 4, "declared",
                      stop ? "GB in all" : "GB/hour");
  for (LinkIndex i = 0; i < plan.links.size(); ++i) {
    const PredictedLink& link = prediction.links[i];
    const bool rated = link.rate_bits_per_s > 0;
    text +=
        fmt::format("  {:<{}} -> {:<{}}   {:>12}   {:>9.4f}   {:>4}\n",
                    plan.view.nodes[plan.links[i].from], width, plan.view.nodes[plan.links[i].to],
                    width, rated ? format_rate(link.rate_bits_per_s) : "none",
                    link.bytes_per_round * rounds / kBytesPerGb,
                    rated ? fmt::format("{:.0f}%", 100 * link.busy) : "?");
  }
  return text + "\n" + assumptions(prediction, costs);
}

}  // namespace kimesh
