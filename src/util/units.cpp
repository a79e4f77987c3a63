#include "kimesh/util/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace kimesh {
namespace {

constexpr double kRateMax = 1e13;            // bits/s: a mistyped unit, not a link
constexpr double kDurationMaxSeconds = 1e9;  // about 30 years; 64-bit nanoseconds end at 292
constexpr double kBytesMax = 1e18;           // stays exact enough, and below 64 bits

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kRateUnits[] = {{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}};
constexpr Unit kTimeUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
constexpr Unit kByteUnits[] = {{"B", 1},      {"kB", 1e3},      {"MB", 1e6},        {"GB", 1e9},
                               {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
constexpr std::size_t kDecimalByteUnits = 4;

// NUMBER, at most one space, UNIT; nothing else around them.
std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(end - rest));
  if (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : units)
    if (unit.name == name) return number * unit.factor;
  return std::nullopt;
}

Error user_error(std::string_view text, std::string_view what, std::string_view remedy) {
  constexpr std::size_t kQuotedMax = 40;  // characters shown of a text that may be a whole file
  return {ErrorCode::kUserInput,
          fmt::format("'{}' is not {}; write {}", text.substr(0, kQuotedMax), what, remedy)};
}

// Three significant digits in the largest unit that leaves at least 1 before the point.
std::string format(double value, std::span<const Unit> units, std::string_view suffix) {
  std::size_t u = 0;
  // A value that rounds up to the next unit is written in it: 999.6 kB is 1.00 MB.
  while (u + 1 < units.size() && std::abs(value) >= units[u + 1].factor * 0.9995) ++u;
  const double shown = value / units[u].factor;
  const double size = std::abs(shown);
  const int digits = value == 0 ? 0 : size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", shown, digits, units[u].name, suffix);
}

}  // namespace

Result<double> parse_rate_bits_per_s(std::string_view text) {
  std::string_view bare = text;
  if (bare.ends_with("/s")) bare.remove_suffix(2);
  const auto rate = parse(bare, kRateUnits);
  if (rate && *rate > 0 && *rate <= kRateMax) return *rate;
  return user_error(text, "a rate",
                    "a number above 0 and bit, kbit, Mbit or Gbit (per second), such as 2Mbit");
}

Result<Duration> parse_duration(std::string_view text) {
  const auto seconds = parse(text, kTimeUnits);
  if (seconds && *seconds >= 0 && *seconds <= kDurationMaxSeconds)
    return Duration(std::llround(*seconds * 1e9));
  return user_error(text, "a time", "a number and us, ms, s, min or h, such as 100ms");
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const auto bytes = parse(text, kByteUnits);
  if (bytes && *bytes >= 0 && *bytes <= kBytesMax)
    return static_cast<std::uint64_t>(std::llround(*bytes));
  return user_error(text, "a size", "a number and B, kB, MB, GB, KiB, MiB or GiB, such as 64KiB");
}

std::string bytes_meant(std::string_view text) {
  const auto is_same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const Unit& unit : kByteUnits) {
    const std::size_t number = text.size() - std::min(unit.name.size(), text.size());
    if (!std::ranges::equal(text.substr(number), unit.name, is_same)) continue;
    std::string size = std::string(text.substr(0, number)) + std::string(unit.name);
    if (const auto bytes = parse_bytes(size); bytes.ok() && *bytes > 0) return size;
  }
  return "";
}

std::string format_rate(double bits_per_s) {
  return format(bits_per_s, kRateUnits, "/s");
}

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) return "0 s";
  return format(to_seconds(duration), kTimeUnits, "");
}

std::string format_bytes(double bytes) {
  return format(bytes, std::span(kByteUnits).first(kDecimalByteUnits), "");
}

}  // namespace kimesh
