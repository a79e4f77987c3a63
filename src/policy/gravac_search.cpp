#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/policy/gravac.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

std::vector<GravacStep> steps_of(const GravacOptions& options) {
  std::vector<GravacStep> steps{{options.theta_min, {}}};
  double scale = 2;
  while (steps.back().theta < options.theta_max) {
    steps.push_back({std::min(options.theta_min * scale, options.theta_max), {}});
    scale *= options.scaling == GravacOptions::Scaling::kGeometric ? 2 : scale;
  }
  return steps;
}

std::string number_or_null(const std::optional<double>& number) {
  return number ? fmt::format("{:.6g}", *number) : "null";
}

}  // namespace

GravacSearch::GravacSearch(const GravacOptions& options, unsigned nodes)
    : options_(options),
      weight_(std::clamp(nodes / 100.0, kGravacWeightMin, kGravacWeightMax)),
      steps_(steps_of(options)) {
  KIMESH_CHECK(options.theta_min >= 1 && options.theta_min < options.theta_max,
               "gravac: factors, the least below the most");
  KIMESH_CHECK(options.epsilon > 0 && options.epsilon <= 1, "gravac: epsilon in (0, 1]");
  KIMESH_CHECK(options.omega > 0 && options.omega < 1, "gravac: omega in (0, 1)");
  KIMESH_CHECK(options.window > Duration{0}, "gravac: a window of some time");
}

bool GravacSearch::keeps_epsilon(const GravacStep& step) const {
  return step.known.gain.value_or(1) >= options_.epsilon;
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

void GravacSearch::smooth(std::optional<double>& value, std::optional<double> next) const {
  if (next) value = value ? *value + weight_ * (*next - *value) : next;
}

void GravacSearch::observe(Duration took, std::span<const GravacView> views) {
  KIMESH_CHECK(views.size() == steps_.size(), "gravac: a view of every step");
  dense_rounds_ = in_use() ? 0 : dense_rounds_ + 1;
  for (std::size_t i = 0; i < views.size(); ++i) {
    smooth(steps_[i].known.gain, views[i].gain);
    smooth(steps_[i].known.round_s, views[i].round_s);
  }
  if (dense_rounds_ >= kGravacDenseRounds) return restart();
  window_ += took;
  if (window_ >= options_.window) end_window();
}

void GravacSearch::end_window() {
  window_ = Duration{0};
  if (!in_use()) return;  // the next round is dense
  if (selected_) return select();
  const double least = steps_[trusted_].known.gain.value_or(1),
               tried = steps_[tried_].known.gain.value_or(1);
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
    const GravacView& known = step.known;
    const bool usable = known.round_s && *known.round_s > 0 && keeps_epsilon(step);
    return usable ? known.gain.value_or(1) / *known.round_s : 0.0;
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
  window_ = Duration{0};
  dense_rounds_ = 0;
  for (GravacStep& step : steps_) step.known = {};
}

void GravacSearch::save(StateWriter& writer) const {
  for (const GravacStep& step : steps_) writer.put(step);
  writer.put(trusted_);
  writer.put(tried_);
  writer.put(selected_);
  writer.put(window_);
  writer.put(dense_rounds_);
}

void GravacSearch::restore(StateReader& reader) {
  for (GravacStep& step : steps_) reader.get(step);
  reader.get(trusted_);
  reader.get(tried_);
  reader.get(selected_);
  reader.get(window_);
  reader.get(dense_rounds_);
  reader.require(trusted_ < steps_.size() && tried_ < steps_.size());
}

std::string GravacSearch::state() const {
  std::string text = fmt::format(
      "{{\"theta_min\":{:.6g},\"theta_s\":{:.6g},\"factor\":{:.6g},"
      "\"selected\":{},\"steps\":[",
      theta_min(), theta_s(), factor(), selected_);
  for (const GravacStep& step : steps_)
    text += fmt::format("{}{{\"theta\":{:.6g},\"gain\":{},\"round_s\":{}}}",
                        &step == steps_.data() ? "" : ",", step.theta,
                        number_or_null(step.known.gain), number_or_null(step.known.round_s));
  return text + "]}";
}

}  // namespace kimesh
