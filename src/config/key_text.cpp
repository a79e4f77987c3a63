#include "kimesh/config/key_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kimesh/config/map_reader.h"

namespace kimesh {
namespace {

std::string plain_number(double x) {
  constexpr double kExact = 1e15;
  return std::abs(x) < kExact && x == std::floor(x) ? fmt::format("{:.0f}", x)
                                                    : fmt::format("{}", x);
}

// Values as exact text, since nodes compare it.
struct ExactText {
  std::string operator()(const NumberValue& field) const { return fmt::format("{}", field.value); }
  std::string operator()(const NumberOrWordValue& field) const {
    return field.is_word ? std::string(field.word) : fmt::format("{}", field.value);
  }
  std::string operator()(const WholeValue& field) const { return fmt::format("{}", field.value); }
  std::string operator()(const SeedValue& field) const { return fmt::format("{}", field.value); }
  std::string operator()(const DurationValue& field) const {
    return fmt::format("{}", field.value.count());
  }
  std::string operator()(const RateValue& field) const {
    return fmt::format("{}", field.bits_per_s);
  }
  std::string operator()(const BytesValue& field) const { return fmt::format("{}", field.bytes); }
  std::string operator()(const ChoiceValue& field) const {
    return std::string(field.names[field.index]);
  }
  std::string operator()(const TextValue& field) const { return field.value; }
  std::string operator()(const PathValue&) const { return "a file"; }
  std::string operator()(const TextListValue& field) const {
    return fmt::format("{}", fmt::join(field.value, " "));
  }
  std::string operator()(const TextPairsValue& field) const {
    std::string text;
    for (const auto& [name, value] : field.value)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value);
    return text;
  }
  std::string operator()(const WholeListValue& field) const {
    return fmt::format("{}", fmt::join(field.value, " "));
  }
  std::string operator()(const NumbersByRoundValue& field) const {
    std::string text;
    for (const auto& [round, number] : field.value)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", round, number);
    return text;
  }
};

// Values as people write them in a file.
struct WrittenText : ExactText {
  using ExactText::operator();
  std::string operator()(const NumberValue& field) const { return plain_number(field.value); }
  std::string operator()(const NumberOrWordValue& field) const {
    return field.is_word ? std::string(field.word) : plain_number(field.value);
  }
  std::string operator()(const DurationValue& field) const {
    const double seconds = to_seconds(field.value);
    return seconds > 0 && seconds < 1 ? fmt::format("{}ms", seconds * 1e3)
                                      : fmt::format("{}s", seconds);
  }
  std::string operator()(const WholeListValue& field) const {
    return fmt::format("[{}]", fmt::join(field.value, ", "));
  }
  std::string operator()(const NumbersByRoundValue& field) const {
    return fmt::format("{{{}}}", ExactText::operator()(field));
  }
};

// The values that a key takes.
struct DomainText {
  std::string operator()(const NumberValue& field) const { return "number " + field.range.text(); }
  std::string operator()(const NumberOrWordValue& field) const {
    return fmt::format("number {}, or {}", field.range.text(), field.word);
  }
  std::string operator()(const WholeValue& field) const {
    return "whole number " + field.range.text();
  }
  std::string operator()(const SeedValue&) const { return "whole number of 64 bits"; }
  std::string operator()(const DurationValue& field) const {
    return fmt::format("time from {}s to {}s, such as 25ms", field.seconds.low,
                       plain_number(field.seconds.high));
  }
  std::string operator()(const RateValue&) const { return "rate above 0, such as 2Mbit"; }
  std::string operator()(const BytesValue&) const { return "size above 0, such as 50GB"; }
  std::string operator()(const ChoiceValue& field) const { return joined(field.names); }
  std::string operator()(const TextValue&) const { return "text"; }
  std::string operator()(const PathValue&) const { return "path, relative to this file"; }
  std::string operator()(const TextListValue& field) const {
    return field.rule.word.empty() ? field.rule.text()
                                   : fmt::format("{}, or {}", field.rule.word, field.rule.text());
  }
  std::string operator()(const TextPairsValue& field) const {
    return fmt::format("map of {}, such as {}", field.rule.each, field.rule.example);
  }
  std::string operator()(const WholeListValue& field) const {
    return fmt::format("list of at most {} whole numbers {}", field.count_max, field.each.text());
  }
  std::string operator()(const NumbersByRoundValue& field) const {
    return fmt::format("map from rounds, 0 first, to at most {} numbers {}", field.count_max,
                       field.each.text());
  }
};

// A visitor that knows keys by the sections around them: "schedule.warmup".
class NestedKeys : public Keys {
 public:
  void section(Key key, const std::function<void(Keys&)>& describe) override {
    visit_below(key.name, describe);
  }

 protected:
  [[nodiscard]] std::string full_name(std::string_view name) const {
    return prefix_ + std::string(name);
  }
  void visit_below(std::string_view name, const std::function<void(Keys&)>& describe) {
    const std::string outer = std::exchange(prefix_, full_name(name) + ".");
    describe(*this);
    prefix_ = outer;
  }

 private:
  std::string prefix_;
};

class CanonicalText final : public NestedKeys {
 public:
  explicit CanonicalText(PathsInText paths) : paths_(paths) {}
  bool wants_local() const override { return false; }
  void word_or_section(Key key, std::size_t& index, const std::vector<std::string_view>& words,
                       std::string_view, const std::function<void(Keys&)>& describe) override {
    if (index >= words.size()) return section(key, describe);
    add(key.name, words[index]);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    if (!is_set) return;
    const auto* path = std::get_if<PathValue>(&value);
    const bool is_written = path != nullptr && paths_ == PathsInText::kWritten;
    add(key.name, is_written ? path->value : std::visit(ExactText{}, value));
  }
  void visit_kind(const Key& key, const KindChoice& choice) override {
    if (!choice.chosen) return;
    add(key.name, choice.names[*choice.chosen]);
    choice.describe(*choice.chosen, *this);
  }
  void visit_entries(const Key& key, const MapEntries& entries) override {
    const auto add_entry = [&](std::string_view name, const std::function<void(Keys&)>& describe) {
      add(key.name, name);
      visit_below(fmt::format("{}.{}", key.name, name), describe);
    };
    if (!entries.rule.common.empty()) add_entry(entries.rule.common, entries.describe_common);
    for (std::size_t i = 0; i < entries.names.size(); ++i)
      add_entry(entries.names[i], [&](Keys& keys) { entries.describe(i, keys); });
  }

 private:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{} {}\n", full_name(name), value);
  }
  PathsInText paths_;
  std::string text_;
};

class NumberCollector final : public NestedKeys {
 public:
  bool wants_local() const override { return false; }
  void word_or_section(Key key, std::size_t& index, const std::vector<std::string_view>& words,
                       std::string_view, const std::function<void(Keys&)>& describe) override {
    if (index >= words.size()) section(key, describe);
  }
  [[nodiscard]] std::map<std::string, double> take() { return std::move(numbers_); }

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    const std::string name = full_name(key.name);
    if (!is_set) return;
    if (const auto* number = std::get_if<NumberValue>(&value)) numbers_[name] = number->value;
    if (const auto* whole = std::get_if<WholeValue>(&value))
      numbers_[name] = static_cast<double>(whole->value);
    if (const auto* time = std::get_if<DurationValue>(&value))
      numbers_[name] = to_seconds(time->value);
  }
  void visit_kind(const Key&, const KindChoice& choice) override {
    if (choice.chosen) choice.describe(*choice.chosen, *this);
  }
  void visit_entries(const Key&, const MapEntries&) override {}

 private:
  std::map<std::string, double> numbers_;
};

class RowCollector final : public NestedKeys {
 public:
  bool wants_all() const override { return true; }
  void require(std::string_view name, std::string_view) override {
    required_.push_back({full_name(name), kind_});
  }
  void section(Key key, const std::function<void(Keys&)>& describe) override {
    add({full_name(key.name), kind_, "map", "", std::string(key.help)});
    visit_below(key.name, describe);
  }
  void word_or_section(Key key, std::size_t& index, const std::vector<std::string_view>& words,
                       std::string_view, const std::function<void(Keys&)>& describe) override {
    add({full_name(key.name), kind_, joined(words) + ", or a map",
         index < words.size() ? std::string(words[index]) : "a map", std::string(key.help)});
    visit_below(key.name, describe);
  }
  [[nodiscard]] std::vector<KeyRow> take() {
    for (const auto& [name, kind] : required_)
      for (KeyRow& row : rows_)
        if (row.name == name && (kind.empty() || row.kind == kind)) row.fallback = "required";
    return std::move(rows_);
  }

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    std::string fallback = is_set ? std::visit(WrittenText{}, value) : std::string();
    const auto* list = std::get_if<TextListValue>(&value);
    if (!is_set && list != nullptr) fallback = list->rule.word;
    add({full_name(key.name), kind_, std::visit(DomainText{}, value), std::move(fallback),
         std::string(key.help)});
  }
  void visit_entries(const Key& key, const MapEntries& entries) override {
    const EntryRule& rule = entries.rule;
    add({full_name(key.name), kind_, fmt::format("map, one line per {}", rule.noun), "",
         std::string(key.help)});
    visit_below(fmt::format("{}.{}", key.name, rule.placeholder), entries.describe_common);
  }
  void visit_kind(const Key& key, const KindChoice& choice) override {
    add({full_name(key.name), kind_, joined(choice.names),
         choice.chosen ? std::string(choice.names[*choice.chosen]) : std::string(),
         std::string(key.help)});
    const std::string outer = kind_;
    for (std::size_t i = 0; i < choice.names.size(); ++i) {
      kind_ = choice.names[i];
      choice.describe(i, *this);
    }
    kind_ = outer;
  }

 private:
  // Kinds that share a key share its row, if all else is equal.
  void add(KeyRow row) {
    const auto same = std::ranges::find_if(rows_, [&](const KeyRow& other) {
      return other.name == row.name && other.values == row.values &&
             other.fallback == row.fallback && other.help == row.help;
    });
    if (same == rows_.end())
      rows_.push_back(std::move(row));
    else if (!same->kind.empty() && !row.kind.empty() && same->kind != row.kind)
      same->kind += ", " + row.kind;
  }

  std::string kind_;
  std::vector<KeyRow> rows_;
  std::vector<std::pair<std::string, std::string>> required_;
};

class KindCollector final : public NestedKeys {
 public:
  bool wants_all() const override { return true; }
  void word_or_section(Key key, std::size_t&, const std::vector<std::string_view>&,
                       std::string_view, const std::function<void(Keys&)>& describe) override {
    visit_below(key.name, describe);
  }
  [[nodiscard]] std::vector<KindRow> take() { return std::move(rows_); }

 protected:
  void visit(const Key&, const KeyValue&, bool&) override {}
  void visit_entries(const Key& key, const MapEntries& entries) override {
    visit_below(key.name, entries.describe_common);
  }
  void visit_kind(const Key& key, const KindChoice& choice) override {
    const std::string name = full_name(key.name);
    if (std::ranges::find(rows_, name, &KindRow::key) != rows_.end()) return;
    for (std::size_t i = 0; i < choice.names.size(); ++i)
      rows_.push_back({name, std::string(choice.names[i]), std::string(choice.helps[i])});
    for (std::size_t i = 0; i < choice.names.size(); ++i) choice.describe(i, *this);
  }

 private:
  std::vector<KindRow> rows_;
};

using Cells = std::array<std::string, 5>;

std::vector<Cells> cells_of(const std::vector<KeyRow>& rows) {
  std::vector<Cells> cells{{"key", "of", "values", "default", "meaning"}};
  for (const KeyRow& row : rows)
    cells.push_back({row.name, row.kind, row.values, row.fallback, row.help});
  return cells;
}

}  // namespace

std::string canonical_text(const std::function<void(Keys&)>& describe, PathsInText paths) {
  CanonicalText text(paths);
  describe(text);
  return text.take();
}

std::map<std::string, double> key_numbers(const std::function<void(Keys&)>& describe) {
  NumberCollector numbers;
  describe(numbers);
  return numbers.take();
}

std::vector<KeyRow> key_rows(const std::function<void(Keys&)>& describe) {
  RowCollector rows;
  describe(rows);
  return rows.take();
}

std::vector<KindRow> kind_rows(const std::function<void(Keys&)>& describe) {
  KindCollector kinds;
  describe(kinds);
  return kinds.take();
}

std::string plain_table(const std::vector<KeyRow>& rows) {
  const std::vector<Cells> cells = cells_of(rows);
  std::array<std::size_t, 5> widths{};  // a column without values keeps 0 and is left out
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (std::any_of(cells.begin() + 1, cells.end(),
                    [&](const Cells& row) { return !row[c].empty(); }))
      for (const Cells& row : cells) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const Cells& row : cells) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      if (widths[c] > 0) line += fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string markdown_table(const std::vector<KeyRow>& rows) {
  std::string text = "| key | of | values | default | meaning |\n|---|---|---|---|---|\n";
  for (const KeyRow& row : rows)
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, row.kind, row.values,
                        row.fallback, row.help);
  return text;
}

}  // namespace kimesh
