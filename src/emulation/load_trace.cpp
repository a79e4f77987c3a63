#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kimesh/config/complaints.h"
#include "kimesh/config/map_reader.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/emulation/rate_trace.h"
#include "kimesh/util/units.h"

namespace kimesh {
namespace {

constexpr std::size_t kTraceBytesMax = 16 << 20;   // a day in steps of 0.1 s
constexpr std::size_t kTraceStepsMax = 1'000'000;  // the same day, and memory of 16 MB
// Each step is an event in the simulator and a wake-up in the shaper.
constexpr double kTraceStepSecondsMin = 1e-3;

struct Line {
  std::string_view seconds, rate;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::optional<Line> split(std::string_view line) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  return Line{trimmed(line.substr(0, comma)), trimmed(line.substr(comma + 1))};
}

std::optional<double> parse_rate(std::string_view text) {
  if (const auto rate = parse_rate_bits_per_s(text)) return *rate;
  if (const auto rate = parse_rate_bits_per_s(fmt::format("{}bit", text))) return *rate;
  return std::nullopt;
}

// Adds one line of the file; false once there is a complaint about it.
bool add_line(std::string_view text, int number, RateTrace& trace, Complaints& complaints) {
  const auto complain = [&](std::string message, std::string remedy) {
    complaints.add(number, std::move(message), std::move(remedy));
    return false;
  };
  const auto line = split(text);
  const auto seconds = line ? parse_number(line->seconds) : std::nullopt;
  const auto rate = line ? parse_rate(line->rate) : std::nullopt;
  if (!seconds || !rate)
    return complain(fmt::format("{} is not a step of a trace", quoted(text)),
                    "Write SECONDS,RATE with a rate above 0, such as 1.5,2Mbit");
  if (trace.steps.empty() && *seconds != 0)
    return complain(fmt::format("the first step is at {} s", *seconds), "Begin at 0");
  if (!trace.steps.empty() && *seconds < trace.steps.back().seconds + kTraceStepSecondsMin)
    return complain(
        fmt::format("a step at {} s follows one at {} s", *seconds, trace.steps.back().seconds),
        fmt::format("Write times that ascend by at least {} s", kTraceStepSecondsMin));
  if (trace.steps.size() == kTraceStepsMax)
    return complain(fmt::format("the trace has more than {} steps", kTraceStepsMax),
                    "Write fewer; a trace repeats when it ends");
  trace.steps.push_back({*seconds, *rate});
  return true;
}

bool is_header(std::string_view line) {
  const auto parts = split(line);
  return parts && !parts->seconds.empty() && !parse_number(parts->seconds) &&
         !parse_rate(parts->rate);
}

}  // namespace

std::optional<RateTrace> load_trace(const std::string& path, int line_of_path,
                                    Complaints& complaints) {
  Complaints own(path);
  std::string why;
  std::error_code unknown;
  std::optional<std::string> text;
  if (std::filesystem::is_other(std::filesystem::status(path, unknown)))
    why = "it is no regular file, and its text is wanted again for copies";
  else
    text = read_text(path, kTraceBytesMax, why);
  if (!text) {
    complaints.add(line_of_path, fmt::format("the trace '{}' cannot be read: {}", path, why),
                   "Check the path; it counts from this file's folder");
    return std::nullopt;
  }
  RateTrace trace;
  bool may_be_header = true, good = true;
  int number = 0;
  for (std::size_t begin = 0; good && begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view line = trimmed(std::string_view(*text).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (!std::exchange(may_be_header, false) || !is_header(line))
      good = add_line(line, number, trace, own);
  }
  if (good && trace.steps.empty())
    own.add(0, "the trace has no step", "Write lines of SECONDS,RATE, such as 0,2Mbit");
  if (own.empty()) return trace;
  complaints.add(own.take());
  return std::nullopt;
}

}  // namespace kimesh
