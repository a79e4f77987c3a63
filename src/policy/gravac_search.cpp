#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gravac_keep.h"
#include "kimesh/policy/gravac.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

std::vector<GravacStep> steps_of(const GravacOptions& options) {
  std::vector<GravacStep> steps{{options.theta_min, {}, {}}};
  double scale = 2;
  while (steps.back().theta < options.theta_max) {
    steps.push_back({std::min(options.theta_min * scale, options.theta_max), {}, {}});
    scale *= options.scaling == GravacOptions::Scaling::kGeometric ? 2 : scale;
  }
  return steps;
}

double missing_at(double theta, const MessageObservation& message) {
  const std::uint32_t keep = gravac_keep(theta, message.elements);
  if (is_sent_dense(keep, message.elements)) return 0;
  const double share = static_cast<double>(keep) / static_cast<double>(message.elements);
  double missing = 0;
  for (const PieceCurve& piece : *message.curve)
    missing += piece.missing_energy(share * static_cast<double>(piece.size));
  return missing;
}

std::string number_or_null(const std::optional<double>& number) {
  return number ? fmt::format("{:.6g}", *number) : "null";
}

}  // namespace

std::optional<double> gain_at(double theta, std::span<const MessageObservation> messages) {
  struct Sum {
    double wanted = 0, missing = 0;
    bool measured = false;
  };
  std::array<Sum, 2> sums;  // reduces, gathers
  for (const MessageObservation& message : messages) {
    if (!std::isfinite(message.wanted_energy) || !std::isfinite(message.missing_energy)) continue;
    Sum& sum = sums[message.phase == Phase::kGather ? 1 : 0];
    const bool measured = message.curve != nullptr && !message.curve->empty();
    sum.wanted += message.wanted_energy;
    sum.missing += measured ? missing_at(theta, message) : message.missing_energy;
    sum.measured = sum.measured || measured;
  }
  std::optional<double> least;
  for (const Sum& sum : sums) {
    if (!sum.measured) continue;
    const double gain = sum.wanted > 0 ? std::clamp(1 - sum.missing / sum.wanted, 0.0, 1.0) : 1.0;
    least = std::min(gain, least.value_or(1));
  }
  return least;
}

GravacSearch::GravacSearch(const GravacOptions& options, unsigned nodes)
    : options_(options),
      weight_(std::clamp(nodes / 100.0, kGravacWeightMin, kGravacWeightMax)),
      steps_(steps_of(options)) {
  KIMESH_CHECK(options.theta_min >= 1 && options.theta_min < options.theta_max,
               "gravac: factors, the least below the most");
  KIMESH_CHECK(options.epsilon > 0 && options.epsilon <= 1, "gravac: epsilon in (0, 1]");
  KIMESH_CHECK(options.omega > 0 && options.omega < 1, "gravac: omega in (0, 1)");
  KIMESH_CHECK(options.window > 0, "gravac: a window of rounds");
}

bool GravacSearch::keeps_epsilon(const GravacStep& step) const {
  return step.gain.value_or(1) >= options_.epsilon;
}

std::optional<std::size_t> GravacSearch::in_use() const {
  if (keeps_epsilon(steps_[tried_])) return tried_;
  if (keeps_epsilon(steps_[trusted_])) return trusted_;
  return std::nullopt;
}

double GravacSearch::factor() const {
  const auto step = in_use();
  return step ? steps_[*step].theta : 1;
}

void GravacSearch::smooth(std::optional<double>& value, double next) const {
  value = value ? *value + weight_ * (next - *value) : next;
}

void GravacSearch::observe(Duration took, std::span<const MessageObservation> messages) {
  if (const auto sent = in_use(); sent && took > Duration{0})
    smooth(steps_[*sent].round_s, to_seconds(took));
  for (GravacStep& step : steps_)
    if (const auto gain = gain_at(step.theta, messages)) smooth(step.gain, *gain);
  if (++rounds_ >= options_.window) end_window();
}

void GravacSearch::end_window() {
  rounds_ = 0;
  if (!in_use()) return restart();
  if (selected_) return select();
  const double least = steps_[trusted_].gain.value_or(1), tried = steps_[tried_].gain.value_or(1);
  if (keeps_epsilon(steps_[tried_]) && least > 0 &&
      std::abs(least - tried) / least <= options_.omega)
    trusted_ = tried_;
  if (tried_ + 1 < steps_.size())
    ++tried_;
  else
    select();
}

void GravacSearch::select() {
  selected_ = true;
  const auto product = [&](const GravacStep& step) {
    return step.round_s && keeps_epsilon(step) ? step.gain.value_or(1) / *step.round_s : 0.0;
  };
  double highest = 0;
  for (const GravacStep& step : steps_) highest = std::max(highest, product(step));
  if (highest == 0) return;
  const auto first = std::ranges::find_if(steps_, [&](const GravacStep& step) {
    return product(step) >= (1 - options_.omega) * highest;
  });
  tried_ = static_cast<std::size_t>(first - steps_.begin());
  trusted_ = std::min(trusted_, tried_);  // what is fallen back to compresses no more
}

void GravacSearch::restart() {
  trusted_ = tried_ = 0;
  selected_ = false;
  for (GravacStep& step : steps_) step = {step.theta, {}, {}};
}

std::string GravacSearch::state() const {
  std::string text = fmt::format(
      "{{\"theta_min\":{:.6g},\"theta_s\":{:.6g},\"factor\":{:.6g},"
      "\"selected\":{},\"steps\":[",
      theta_min(), theta_s(), factor(), selected_);
  for (const GravacStep& step : steps_)
    text +=
        fmt::format("{}{{\"theta\":{:.6g},\"gain\":{},\"rounds_per_s\":{}}}",
                    &step == steps_.data() ? "" : ",", step.theta, number_or_null(step.gain),
                    number_or_null(step.round_s ? std::optional(1 / *step.round_s) : std::nullopt));
  return text + "]}";
}

}  // namespace kimesh
