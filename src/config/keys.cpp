#include "kimesh/config/keys.h"

namespace kimesh {

void Keys::visit_value(std::string_view name, const KeyValue& value, std::string_view help) {
  bool is_set = true;
  visit({name, help}, value, is_set);
}

void Keys::number(std::string_view name, double& value, Range range, std::string_view help) {
  visit_value(name, NumberValue{value, range}, help);
}

void Keys::number(std::string_view name, std::optional<double>& value, Range range,
                  std::string_view help) {
  bool is_set = value.has_value();
  double number = value.value_or(0);
  visit({name, help}, NumberValue{number, range}, is_set);
  if (is_set && value != number) value = number;
}

void Keys::number_or_word(std::string_view name, const NumberOrWordValue& field,
                          std::string_view help) {
  visit_value(name, field, help);
}

void Keys::seed(std::string_view name, std::uint64_t& value, std::string_view help) {
  visit_value(name, SeedValue{value}, help);
}

void Keys::duration(std::string_view name, Duration& value, Range seconds, std::string_view help) {
  visit_value(name, DurationValue{value, seconds}, help);
}

void Keys::duration(std::string_view name, std::optional<Duration>& value, Range seconds,
                    std::string_view help) {
  bool is_set = value.has_value();
  Duration duration = value.value_or(Duration{0});
  visit({name, help}, DurationValue{duration, seconds}, is_set);
  if (is_set && value != duration) value = duration;
}

void Keys::rate(std::string_view name, std::optional<double>& bits_per_s, std::string_view help) {
  bool is_set = bits_per_s.has_value();
  double rate = bits_per_s.value_or(0);
  visit({name, help}, RateValue{rate}, is_set);
  if (is_set && bits_per_s != rate) bits_per_s = rate;
}

void Keys::bytes(std::string_view name, std::optional<std::uint64_t>& bytes,
                 std::string_view help) {
  bool is_set = bytes.has_value();
  std::uint64_t count = bytes.value_or(0);
  visit({name, help}, BytesValue{count}, is_set);
  if (is_set && bytes != count) bytes = count;
}

void Keys::flag(std::string_view name, bool& value, std::string_view help) {
  choice(name, value, {{"false", false}, {"true", true}}, help);
}

void Keys::text(std::string_view name, std::string& value, std::string_view help) {
  bool is_set = !value.empty();
  visit({name, help}, TextValue{value}, is_set);
}

void Keys::path(std::string_view name, std::string& value, std::string_view help) {
  bool is_set = !value.empty();
  visit({name, help}, PathValue{value}, is_set);
}

void Keys::texts(std::string_view name, std::vector<std::string>& value, const ListRule& rule,
                 std::string_view help) {
  bool is_set = !value.empty();
  visit({name, help}, TextListValue{value, rule}, is_set);
}

void Keys::texts(std::string_view name, std::vector<std::string>& value, std::size_t count_max,
                 std::string_view help) {
  ListRule rule;
  rule.count_max = count_max;
  texts(name, value, rule, help);
}

void Keys::text_pairs(std::string_view name,
                      std::vector<std::pair<std::string, std::string>>& value, const ListRule& rule,
                      std::string_view help) {
  bool is_set = !value.empty();
  visit({name, help}, TextPairsValue{value, rule}, is_set);
}

void Keys::wholes(std::string_view name, std::vector<std::int64_t>& value, Range each,
                  std::size_t count_max, std::string_view help) {
  visit_value(name, WholeListValue{value, each, count_max}, help);
}

void Keys::numbers_by_round(std::string_view name, std::map<Round, double>& value, Range each,
                            std::size_t count_max, std::string_view help) {
  bool is_set = !value.empty();
  visit({name, help}, NumbersByRoundValue{value, each, count_max}, is_set);
}

}  // namespace kimesh
