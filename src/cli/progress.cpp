#include "progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kimesh::cli {
namespace {

constexpr Duration kPaceOver = std::chrono::seconds(30);
constexpr Duration kBetweenPoints = std::chrono::milliseconds(200);
constexpr std::size_t kBarMin = 10, kBarMax = 40;  // columns between the brackets

}  // namespace

void Progress::add(double share, TimePoint now) {
  if (seen_.size() >= 2 && now - seen_[seen_.size() - 2].first < kBetweenPoints)
    seen_.pop_back();  // the newest one takes its place
  seen_.emplace_back(now, std::clamp(share, 0.0, 1.0));
  while (seen_.size() > 2 && now - seen_[1].first > kPaceOver) seen_.pop_front();
}

std::optional<Duration> Progress::left() const {
  if (seen_.size() < 2) return std::nullopt;
  const double done = seen_.back().second - seen_.front().second;
  if (done <= 0) return std::nullopt;
  constexpr double kForever = 1e9;  // seconds; a Duration holds it
  const double pace_s = to_seconds(seen_.back().first - seen_.front().first) / done;
  return from_seconds(std::min(pace_s * (1 - seen_.back().second), kForever));
}

std::string Progress::bar(std::size_t columns, bool may_end_sooner) const {
  const double share = seen_.empty() ? 0 : seen_.back().second;
  std::string text = fmt::format(" {:3.0f} %", std::floor(100 * share));
  if (const auto time = left())
    text += fmt::format(", {} left{}", rough_time(*time), may_end_sooner ? " at most" : "");
  if (columns < text.size() + kBarMin + 2) return text.substr(1, columns);
  const std::size_t width = std::min(columns - text.size() - 2, kBarMax);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '-') + "]" + text;
}

std::optional<double> share_done(const StopOptions& stop, const RunTally& tally) {
  std::optional<double> share;
  const auto at_least = [&](double of_this) { share = std::max(share.value_or(0), of_this); };
  const RoundRecord* latest = tally.latest();
  const double rounds = latest == nullptr ? 0 : static_cast<double>(latest->round);
  if (stop.rounds) at_least(rounds / static_cast<double>(std::max<Round>(*stop.rounds, 1)));
  if (stop.time && *stop.time > Duration{0}) at_least(tally.clock_s() / to_seconds(*stop.time));
  return share;
}

std::string rough_time(Duration time) {
  const auto seconds = static_cast<std::int64_t>(std::ceil(to_seconds(time)));
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < kMinute) return fmt::format("{} s", seconds);
  if (seconds < kHour) return fmt::format("{} min {} s", seconds / kMinute, seconds % kMinute);
  if (seconds < kDay) return fmt::format("{} h {} min", seconds / kHour, seconds % kHour / kMinute);
  return fmt::format("{} d {} h", seconds / kDay, seconds % kDay / kHour);
}

}  // namespace kimesh::cli
