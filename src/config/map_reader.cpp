#include "kimesh/config/map_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "kimesh/util/units.h"
#include "limits.h"

namespace kimesh {
namespace {

template <typename T>
std::optional<T> parse_all(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `x`, where whole numbers have no exponent.
std::string plain(double x) {
  constexpr double kExact = 1e15;
  return std::abs(x) < kExact && x == std::floor(x) ? fmt::format("{:.0f}", x)
                                                    : fmt::format("{}", x);
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

std::string seconds_text(double seconds) {
  constexpr double kHour = 3600;
  if (seconds >= kHour && std::fmod(seconds, kHour) == 0)
    return fmt::format("{}h", seconds / kHour);
  if (seconds > 0 && seconds < 1) return fmt::format("{}ms", seconds * 1e3);
  return fmt::format("{}s", seconds);
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string shown(text.substr(0, limits::kQuotedMax));
  std::ranges::replace_if(shown, is_control, ' ');
  return fmt::format("'{}'{}", shown, text.size() > limits::kQuotedMax ? "..." : "");
}

bool shows_well(std::string_view text) {
  return text.size() <= limits::kQuotedMax && std::ranges::none_of(text, is_control);
}

std::string joined(const std::vector<std::string_view>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string kind_name(const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::kNothing:
      return "empty";
    case YamlValue::Kind::kText:
      return quoted(value.text);
    case YamlValue::Kind::kList:
      return "a list";
    case YamlValue::Kind::kMap:
      return "a map";
  }
  return "unknown";
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_all<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  return parse_all<std::int64_t>(text);
}

std::string Range::text() const {
  return above ? fmt::format("above {} and at most {}", plain(low), plain(high))
               : fmt::format("from {} to {}", plain(low), plain(high));
}

std::string ListRule::text() const {
  return count_min == 0 ? fmt::format("list of at most {} {}", count_max, each)
                        : fmt::format("list of {} to {} {}", count_min, count_max, each);
}

MapReader::MapReader(Complaints& complaints, const YamlValue& value, std::string where,
                     std::vector<std::string_view> known)
    : MapReader(complaints, value, std::move(where), known, known) {}

MapReader::MapReader(Complaints& complaints, const YamlValue& value, std::string where,
                     const std::vector<std::string_view>& known,
                     const std::vector<std::string_view>& offered)
    : complaints_(complaints), value_(value), where_(std::move(where)) {
  const std::string place = where_.empty() ? "the file" : where_;
  if (value.kind != YamlValue::Kind::kMap) {
    fail(value.line, fmt::format("{} is {}, not a map", place, kind_name(value)),
         fmt::format("Write keys and values: {}", joined(offered)));
    return;
  }
  for (const YamlMember& member : value.members) {
    if (std::find(known.begin(), known.end(), member.key) == known.end())
      fail(member.line, fmt::format("unknown key {} in {}", quoted(member.key), place),
           fmt::format("Write one of: {}", joined(offered)));
    const YamlMember* first = find(member.key);
    if (first != &member)
      fail(member.line,
           fmt::format("key {} was already given in line {}", quoted(member.key), first->line),
           "Keep one of them");
  }
}

const YamlMember* MapReader::find(std::string_view key) const {
  for (const YamlMember& member : value_.members)
    if (member.key == key) return &member;
  return nullptr;
}

int MapReader::line_of(std::string_view key) const {
  const YamlMember* member = find(key);
  return member != nullptr ? member->line : value_.line;
}

std::string MapReader::name(std::string_view key) const {
  return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

void MapReader::fail(int line, std::string message, std::string remedy) {
  ++failures_;
  complaints_.add(line, std::move(message), std::move(remedy));
}

void MapReader::complain(std::string_view key, std::string message, std::string remedy) {
  fail(line_of(key), std::move(message), std::move(remedy));
}

void MapReader::require(std::string_view key, std::string_view example) {
  if (value_.kind != YamlValue::Kind::kMap || find(key) != nullptr) return;
  fail(value_.line, fmt::format("{} is missing", name(key)), fmt::format("Add {}", example));
}

void MapReader::refuse(std::initializer_list<std::string_view> keys, std::string_view reason) {
  for (const std::string_view key : keys)
    if (find(key) != nullptr)
      complain(key, fmt::format("{} means nothing with {}", name(key), reason), "Remove it");
}

const std::string* MapReader::text_of(std::string_view key, const std::string& wanted) {
  const YamlMember* member = find(key);
  if (member == nullptr) return nullptr;
  if (member->value.kind == YamlValue::Kind::kText) return &member->value.text;
  fail(member->line, fmt::format("{} is {}", name(key), kind_name(member->value)),
       fmt::format("Write {}", wanted));
  return nullptr;
}

void MapReader::read(std::string_view key, std::string& target) {
  if (const auto* text = text_of(key, "one word or text")) target = *text;
}

void MapReader::read(std::string_view key, double& target, Range range, std::string_view or_word) {
  const std::string wanted =
      fmt::format("a number {}{}{}", range.text(), or_word.empty() ? "" : ", or ", or_word);
  const auto* text = text_of(key, wanted);
  if (text == nullptr) return;
  const auto number = parse_number(*text);
  if (number && range.holds(*number)) {
    target = *number;
    return;
  }
  complain(key, fmt::format("{} is {}", name(key), quoted(*text)), "Write " + wanted);
}

void MapReader::read(std::string_view key, std::int64_t& target, Range range) {
  const std::string wanted = "a whole number " + range.text();
  const auto* text = text_of(key, wanted);
  if (text == nullptr) return;
  const auto number = parse_whole(*text);
  if (number && range.holds(static_cast<double>(*number))) {
    target = *number;
    return;
  }
  complain(key, fmt::format("{} is {}", name(key), quoted(*text)), "Write " + wanted);
}

void MapReader::read(std::string_view key, std::uint64_t& target) {
  const std::string wanted = "a whole number from 0 to 18446744073709551615";
  const auto* text = text_of(key, wanted);
  if (text == nullptr) return;
  if (const auto number = parse_all<std::uint64_t>(*text)) {
    target = *number;
    return;
  }
  complain(key, fmt::format("{} is {}", name(key), quoted(*text)), "Write " + wanted);
}

void MapReader::read(std::string_view key, Duration& target, Range seconds) {
  const std::string wanted = fmt::format(
      "a number and us, ms, s, min or h, from {} to {}, such as {}: {}", seconds_text(seconds.low),
      seconds_text(seconds.high), key, seconds.low >= 1 ? "15s" : "25ms");
  const auto* text = text_of(key, wanted);
  if (text == nullptr) return;
  const auto time = parse_duration(*text);
  if (time.ok() && seconds.holds(to_seconds(*time))) {
    target = *time;
    return;
  }
  complain(key, fmt::format("{} is {}", name(key), quoted(*text)), "Write " + wanted);
}

void MapReader::read_rate(std::string_view key, std::optional<double>& target) {
  const std::string wanted = fmt::format(
      "a number above 0 and bit, kbit, Mbit or Gbit (per second), such as {}: 2Mbit", key);
  const auto* text = text_of(key, wanted);
  if (text == nullptr) return;
  if (const auto rate = parse_rate_bits_per_s(*text)) {
    target = *rate;
    return;
  }
  complain(key, fmt::format("{} is {}", name(key), quoted(*text)), "Write " + wanted);
}

void MapReader::read_bytes(std::string_view key, std::optional<std::uint64_t>& target) {
  const std::string wanted = "a number above 0 and B, kB, MB or GB, such as ";
  const auto* text = text_of(key, fmt::format("{}{}: 50GB", wanted, key));
  if (text == nullptr) return;
  if (const auto bytes = parse_bytes(*text); bytes.ok() && *bytes > 0) {
    target = *bytes;
    return;
  }
  const std::string meant = bytes_meant(*text);
  complain(key, fmt::format("{} is {}", name(key), quoted(*text)),
           fmt::format("Write {}{}: {}", wanted, key, meant.empty() ? "50GB" : meant));
}

void MapReader::read(std::string_view key, std::vector<std::int64_t>& target, Range each,
                     std::size_t count_max) {
  const YamlMember* member = find(key);
  if (member == nullptr) return;
  const std::string remedy = fmt::format(
      "Write a list of at most {} whole numbers {}, such as "
      "{}: [64, 32]",
      count_max, each.text(), key);
  if (member->value.kind != YamlValue::Kind::kList || member->value.items.size() > count_max) {
    const bool list = member->value.kind == YamlValue::Kind::kList;
    const std::string is =
        list ? fmt::format("a list of {}", member->value.items.size()) : kind_name(member->value);
    return fail(member->line, fmt::format("{} is {}", name(key), is), remedy);
  }
  std::vector<std::int64_t> numbers;
  for (const YamlValue& item : member->value.items) {
    const auto number = parse_whole(item.text);
    if (!number || !each.holds(static_cast<double>(*number)))
      return fail(item.line, fmt::format("{} holds {}", name(key), kind_name(item)), remedy);
    numbers.push_back(*number);
  }
  target = std::move(numbers);
}

void MapReader::read(std::string_view key, std::vector<std::string>& target, const ListRule& rule) {
  const YamlMember* member = find(key);
  if (member == nullptr) return;
  const YamlValue& value = member->value;
  if (!rule.word.empty() && value.kind == YamlValue::Kind::kText && value.text == rule.word)
    return target.clear();
  const std::string list = fmt::format("a {}, such as {}: {}", rule.text(), key, rule.example);
  const std::string remedy = rule.word.empty()
                                 ? "Write " + list
                                 : fmt::format("Write {}: {}, or {}", key, rule.word, list);
  if (value.kind != YamlValue::Kind::kList)
    return fail(member->line,
                fmt::format("{} is {}, not a list of {}", name(key), kind_name(value), rule.each),
                remedy);
  if (!rule.holds(value.items.size()))
    return fail(member->line, fmt::format("{} is a list of {}", name(key), value.items.size()),
                remedy);
  std::vector<std::string> texts;
  for (const YamlValue& item : value.items) {
    const bool good = item.kind == YamlValue::Kind::kText && !item.text.empty();
    if (!good) fail(item.line, fmt::format("{} holds {}", name(key), kind_name(item)), remedy);
    texts.push_back(good ? item.text : std::string());
  }
  target = std::move(texts);
}

void MapReader::read(std::string_view key, std::vector<std::pair<std::string, std::string>>& target,
                     const ListRule& rule) {
  const YamlMember* member = find(key);
  if (member == nullptr) return;
  const YamlValue& map = member->value;
  const std::string remedy =
      fmt::format("Write a map of {} to {} {}, such as {}: {}", rule.count_min, rule.count_max,
                  rule.each, key, rule.example);
  if (map.kind != YamlValue::Kind::kMap)
    return fail(member->line, fmt::format("{} is {}, not a map", name(key), kind_name(map)),
                remedy);
  if (!rule.holds(map.members.size()))
    return fail(member->line, fmt::format("{} is a map of {}", name(key), map.members.size()),
                remedy);
  std::vector<std::pair<std::string, std::string>> pairs;
  std::map<std::string_view, int> lines;
  for (const YamlMember& pair : map.members) {
    const auto [it, is_new] = lines.emplace(pair.key, pair.line);
    if (!shows_well(pair.key)) {
      fail(pair.line, fmt::format("{} holds {}", name(key), quoted(pair.key)), remedy);
    } else if (!is_new) {
      fail(pair.line,
           fmt::format("{}.{} was already given in line {}", name(key), pair.key, it->second),
           "Keep one of them");
    } else if (pair.value.kind != YamlValue::Kind::kText || pair.value.text.empty()) {
      fail(pair.line, fmt::format("{}.{} is {}", name(key), pair.key, kind_name(pair.value)),
           remedy);
    } else {
      pairs.emplace_back(pair.key, pair.value.text);
    }
  }
  target = std::move(pairs);
}

void MapReader::read(std::string_view key, std::map<Round, double>& target, Range each,
                     std::size_t count_max) {
  const YamlMember* member = find(key);
  if (member == nullptr) return;
  const std::string remedy = fmt::format(
      "Write a map from rounds, 0 first, to at most {} numbers {}, such as {}: {{0: {}, 200: {}}}",
      count_max, each.text(), key, plain(each.high), plain(each.high / 10));
  const YamlValue& map = member->value;
  if (map.kind != YamlValue::Kind::kMap)
    return fail(member->line, fmt::format("{} is {}, not a map", name(key), kind_name(map)),
                remedy);
  if (map.members.size() > count_max)
    return fail(member->line, fmt::format("{} is a map of {}", name(key), map.members.size()),
                remedy);
  std::map<Round, double> numbers;
  for (const YamlMember& pair : map.members) {
    const auto round = parse_whole(pair.key);
    if (!round || !Range{0, kRoundsMax}.holds(static_cast<double>(*round)))
      return fail(pair.line,
                  fmt::format("{} holds {}, which is no round", name(key), quoted(pair.key)),
                  remedy);
    const auto number = parse_number(pair.value.text);
    if (!number || !each.holds(*number))
      return fail(pair.line, fmt::format("{}.{} is {}", name(key), pair.key, kind_name(pair.value)),
                  remedy);
    if (!numbers.emplace(static_cast<Round>(*round), *number).second)
      return fail(pair.line, fmt::format("{} has round {} twice", name(key), *round),
                  "Keep one of them");
  }
  if (!numbers.contains(0))
    return fail(member->line, fmt::format("{} says nothing of round 0", name(key)), remedy);
  target = std::move(numbers);
}

std::optional<std::size_t> MapReader::choice_of(std::string_view key,
                                                const std::vector<std::string_view>& names) {
  const std::string wanted =
      names.size() == 1 ? fmt::format("{}: {}", key, names[0]) : "one of: " + joined(names);
  const auto* text = text_of(key, wanted);
  if (text == nullptr) return std::nullopt;
  const auto it = std::find(names.begin(), names.end(), *text);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  if (names.empty())
    complain(key, fmt::format("{} is {}, and this program knows none", name(key), quoted(*text)),
             "Use a program that brings some, as kimesh does");
  else
    complain(key, fmt::format("{} is {}", name(key), quoted(*text)), "Write " + wanted);
  return std::nullopt;
}

}  // namespace kimesh
