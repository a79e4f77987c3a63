// The keys of one map of a user's file, declared once. A struct of options declares its keys in
// describe(Keys&), one call a key; each call binds the key to a field, whose value at that time is
// the default:
//
//   struct GravacOptions {
//     double epsilon = 0.9;
//     void describe(Keys& keys) {
//       keys.number("epsilon", epsilon, {0, 1, true}, "gain that a compression factor must keep");
//     }
//   };
//
// Visitors of that declaration do all the work: read_keys (key_reader.h) fills the fields from a
// file and complains, canonical_text (key_text.h) writes what nodes must agree on, key_rows lists
// keys, ranges and defaults for `kimesh explain` and the docs. A visit writes to a field only where
// its value changes. Thread: one at a time, but any number of visitors that change nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kimesh/config/kind_table.h"
#include "kimesh/config/list_rule.h"
#include "kimesh/config/range.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The field that a key is bound to, and what may stand there. References are valid during visit().
struct NumberValue {
  double& value;
  Range range;
};
struct NumberOrWordValue {
  double& value;
  Range range;
  bool& is_word;  // the word stands there, and `value` means nothing yet
  std::string_view word;
};
struct WholeValue {
  std::int64_t& value;
  Range range;
};
struct SeedValue {
  std::uint64_t& value;  // all 64 bits
};
struct DurationValue {
  Duration& value;
  Range seconds;
};
struct RateValue {
  double& bits_per_s;  // above 0
};
struct BytesValue {
  std::uint64_t& bytes;  // above 0
};
struct ChoiceValue {
  std::size_t& index;  // of `names`
  const std::vector<std::string_view>& names;
};
struct TextValue {
  std::string& value;
};
struct PathValue {
  std::string& value;  // in the file relative to it; here resolved
};
struct TextListValue {
  std::vector<std::string>& value;  // an item that is no text is empty: places tell the others'
  const ListRule& rule;
};
struct TextPairsValue {
  std::vector<std::pair<std::string, std::string>>& value;  // a map of texts, in its order
  const ListRule& rule;
};
struct WholeListValue {
  std::vector<std::int64_t>& value;
  Range each;
  std::size_t count_max;
};
struct NumbersByRoundValue {
  std::map<Round, double>& value;  // by the round from which on it holds; empty, or with a round 0
  Range each;
  std::size_t count_max;
};
using KeyValue = std::variant<NumberValue, NumberOrWordValue, WholeValue, SeedValue, DurationValue,
                              RateValue, BytesValue, ChoiceValue, TextValue, PathValue,
                              TextListValue, TextPairsValue, WholeListValue, NumbersByRoundValue>;

struct Key {
  std::string_view name;
  std::string_view help;  // one line, without a full stop
};

// A key whose value names one of several kinds, each with keys of its own in the same map.
struct KindChoice {
  std::vector<std::string_view> names;
  std::vector<std::string_view> helps;      // by kind, one line each
  std::optional<std::size_t> chosen;        // what the field holds; nothing: no kind yet
  std::function<void(std::size_t)> choose;  // puts a fresh one of this kind into the field
  // Visits the keys of this kind: the field's own where it is the chosen one, else a fresh one's.
  std::function<void(std::size_t, Keys&)> describe;
};

// How the entries of a map are named, where all have the same keys: `nodes` holds one map a node.
struct EntryRule {
  std::string_view noun;         // "node": sentences speak of it
  std::string_view placeholder;  // stands for a name in tables: "NODE"
  std::string_view example;      // of an entry: "a: {address: \"tcp://127.0.0.1:7101\"}"
  std::string_view names;        // what a name looks like: "1 to 32 of a-z, 0-9, _ and -"
  // The name that a key of the file stands for; nothing: it is no name. Null: all are names.
  std::optional<std::string> (*name_of)(std::string_view key) = nullptr;
  std::size_t count_min = 0, count_max = 0;
  // The entry whose values all others begin with, wherever it stands: "default". Empty: there is
  // none, and all begin with what the field's own default says.
  std::string_view common = {};
};
struct MapEntries {
  const EntryRule& rule;
  std::vector<std::string> names;                         // of those that the field holds
  std::function<void(std::size_t, Keys&)> describe;       // visits the keys of one
  std::function<void(Keys&)> describe_common;             // what a further one begins with
  std::function<std::size_t(const std::string&)> append;  // a further one of this name; its index
};

class Keys {
 public:
  virtual ~Keys() = default;

  // ---- one key each. `help` says what the value means, with its unit.
  void number(std::string_view name, double& value, Range range, std::string_view help);
  void number(std::string_view name, std::optional<double>& value, Range range,
              std::string_view help);
  // A number, or one word in its place, such as `lr: theory`. Binds `field.value` and
  // `field.is_word`.
  void number_or_word(std::string_view name, const NumberOrWordValue& field, std::string_view help);
  template <typename T>
  void whole(std::string_view name, T& value, Range range, std::string_view help);
  template <typename T>
  void whole(std::string_view name, std::optional<T>& value, Range range, std::string_view help);
  void seed(std::string_view name, std::uint64_t& value, std::string_view help);
  void duration(std::string_view name, Duration& value, Range seconds, std::string_view help);
  void duration(std::string_view name, std::optional<Duration>& value, Range seconds,
                std::string_view help);
  void rate(std::string_view name, std::optional<double>& bits_per_s, std::string_view help);
  void bytes(std::string_view name, std::optional<std::uint64_t>& bytes, std::string_view help);
  void flag(std::string_view name, bool& value, std::string_view help);
  template <typename T>
  void choice(std::string_view name, T& value,
              std::initializer_list<std::pair<std::string_view, std::type_identity_t<T>>> choices,
              std::string_view help);
  template <typename T>
  void choice(std::string_view name, std::optional<T>& value,
              std::initializer_list<std::pair<std::string_view, std::type_identity_t<T>>> choices,
              std::string_view help);
  void text(std::string_view name, std::string& value, std::string_view help);
  void path(std::string_view name, std::string& value, std::string_view help);
  void texts(std::string_view name, std::vector<std::string>& value, const ListRule& rule,
             std::string_view help);
  void texts(std::string_view name, std::vector<std::string>& value, std::size_t count_max,
             std::string_view help);
  // A map of texts: `parents: {b: a, c: a}`.
  void text_pairs(std::string_view name, std::vector<std::pair<std::string, std::string>>& value,
                  const ListRule& rule, std::string_view help);
  void wholes(std::string_view name, std::vector<std::int64_t>& value, Range each,
              std::size_t count_max, std::string_view help);
  // A number for every round: `{0: 0.1, 200: 0.01}`, each from its round on.
  void numbers_by_round(std::string_view name, std::map<Round, double>& value, Range each,
                        std::size_t count_max, std::string_view help);

  // A map of its own below this key.
  virtual void section(Key key, const std::function<void(Keys&)>& describe) = 0;
  // A map from names to maps of the same keys. An Entry has a `name` and describe(Keys&); `common`
  // is what an entry begins with.
  template <typename Entry>
  void entries(std::string_view name, std::vector<Entry>& entries, Entry& common,
               const EntryRule& rule, std::string_view help);
  // One of `words`, or a map of its own, such as `split: even` and `split: {dirichlet: 0.3}`.
  // `index` is that of the word; words.size() stands for the map; `example` shows it in sentences.
  virtual void word_or_section(Key key, std::size_t& index,
                               const std::vector<std::string_view>& words, std::string_view example,
                               const std::function<void(Keys&)>& describe) = 0;
  // Names a kind of `table`; the keys of the chosen kind follow in this map. Null: none is chosen.
  template <typename Options>
  void kind(std::string_view name, std::shared_ptr<Options>& options,
            const KindTable<Options>& table, std::string_view help);

  // ---- rules, for the visitor that reads a file; nothing happens in the others.
  // The key must be there. `example` is what to add: "label: with the column of the class".
  virtual void require(std::string_view /*name*/, std::string_view /*example*/) {}
  // Complains about each of these keys that the file has: "... means nothing with REASON".
  virtual void refuse(std::initializer_list<std::string_view> /*names*/,
                      std::string_view /*reason*/) {}
  // A condition on several keys together: adds a complaint at the line of `name` where `holds` is
  // false. `name` may lie below a key: "edges.2" is the third item of a list.
  virtual void check(bool /*holds*/, std::string_view /*name*/, std::string /*message*/,
                     std::string /*remedy*/) {}
  // Whether the user wrote this key.
  [[nodiscard]] virtual bool is_given(std::string_view /*name*/) const { return false; }
  // Whether the user wrote this key with a value that was refused. Its default is nothing to draw
  // conclusions from then.
  [[nodiscard]] virtual bool is_wrong(std::string_view /*name*/) const { return false; }
  // True where describe() must declare all keys, also those that only some values of other keys
  // allow.
  [[nodiscard]] virtual bool wants_all() const { return false; }
  // False where describe() leaves out keys that may differ between machines (threads, device).
  [[nodiscard]] virtual bool wants_local() const { return true; }

 protected:
  // `is_set` tells whether an optional field holds a value; a visitor that fills the field sets it.
  virtual void visit(const Key& key, const KeyValue& value, bool& is_set) = 0;
  virtual void visit_kind(const Key& key, const KindChoice& choice) = 0;
  virtual void visit_entries(const Key& key, const MapEntries& entries) = 0;

 private:
  void visit_value(std::string_view name, const KeyValue& value, std::string_view help);
};

template <typename T>
void Keys::whole(std::string_view name, T& value, Range range, std::string_view help) {
  auto number = static_cast<std::int64_t>(value);
  visit_value(name, WholeValue{number, range}, help);
  if (value != static_cast<T>(number)) value = static_cast<T>(number);
}

template <typename T>
void Keys::whole(std::string_view name, std::optional<T>& value, Range range,
                 std::string_view help) {
  bool is_set = value.has_value();
  auto number = static_cast<std::int64_t>(value.value_or(T{}));
  visit({name, help}, WholeValue{number, range}, is_set);
  if (is_set && value != static_cast<T>(number)) value = static_cast<T>(number);
}

template <typename T>
void Keys::choice(
    std::string_view name, T& value,
    std::initializer_list<std::pair<std::string_view, std::type_identity_t<T>>> choices,
    std::string_view help) {
  std::vector<std::string_view> names;
  std::size_t index = 0;
  for (const auto& [word, meaning] : choices) {
    if (meaning == value) index = names.size();
    names.push_back(word);
  }
  visit_value(name, ChoiceValue{index, names}, help);
  const T chosen = (choices.begin() + index)->second;
  if (value != chosen) value = chosen;
}

template <typename T>
void Keys::choice(
    std::string_view name, std::optional<T>& value,
    std::initializer_list<std::pair<std::string_view, std::type_identity_t<T>>> choices,
    std::string_view help) {
  std::vector<std::string_view> names;
  std::size_t index = 0;
  bool is_set = value.has_value();
  for (const auto& [word, meaning] : choices) {
    if (is_set && meaning == *value) index = names.size();
    names.push_back(word);
  }
  visit({name, help}, ChoiceValue{index, names}, is_set);
  const T chosen = (choices.begin() + index)->second;
  if (is_set && value != chosen) value = chosen;
}

template <typename Entry>
void Keys::entries(std::string_view name, std::vector<Entry>& entries, Entry& common,
                   const EntryRule& rule, std::string_view help) {
  MapEntries erased{rule, {}, {}, {}, {}};
  for (const Entry& entry : entries) erased.names.push_back(entry.name);
  erased.describe = [&](std::size_t index, Keys& keys) { entries[index].describe(keys); };
  erased.describe_common = [&](Keys& keys) { common.describe(keys); };
  erased.append = [&](const std::string& entry) {
    entries.push_back(common);
    entries.back().name = entry;
    return entries.size() - 1;
  };
  visit_entries({name, help}, erased);
}

template <typename Options>
void Keys::kind(std::string_view name, std::shared_ptr<Options>& options,
                const KindTable<Options>& table, std::string_view help) {
  KindChoice choice;
  choice.names = table.names();
  choice.helps = table.helps();
  if (options != nullptr) choice.chosen = table.index_of(options->kind_name());
  choice.choose = [&](std::size_t index) { options = table.make(index); };
  choice.describe = [&](std::size_t index, Keys& keys) {
    const bool own = options != nullptr && options->kind_name() == choice.names[index];
    (own ? options : table.make(index))->describe(keys);
  };
  visit_kind({name, help}, choice);
}

}  // namespace kimesh
