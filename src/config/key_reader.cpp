#include "kimesh/config/key_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "kimesh/config/complaints.h"

namespace kimesh {
namespace {

bool holds(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The names of all keys that a map may have, those of every kind included.
class NameCollector final : public Keys {
 public:
  void section(Key key, const std::function<void(Keys&)>&) override { add(key.name); }
  void word_or_section(Key key, std::size_t&, const std::vector<std::string_view>&,
                       std::string_view, const std::function<void(Keys&)>&) override {
    add(key.name);
  }
  bool wants_all() const override { return true; }

  [[nodiscard]] const std::vector<std::string_view>& names() const { return names_; }
  // The key that chooses among the kinds of which some have `name`; empty: none does.
  [[nodiscard]] std::string_view chooser_of(std::string_view name) const {
    const auto found = std::ranges::find(of_kinds_, name, &KeyOfKind::name);
    return found == of_kinds_.end() ? std::string_view{} : found->chooser;
  }
  // The keys that mean something in `map`: those of no kind, and those of the kinds that it names
  // or that it leaves at their defaults.
  [[nodiscard]] std::vector<std::string_view> names_for(const YamlValue& map) const {
    std::vector<std::string_view> result;
    for (const std::string_view name : names_) {
      const bool is_common = chooser_of(name).empty();
      if (is_common || std::ranges::any_of(of_kinds_, [&](const KeyOfKind& key) {
            return key.name == name && key.kind == kind_in(map, key.chooser);
          }))
        result.push_back(name);
    }
    return result;
  }

 protected:
  void visit(const Key& key, const KeyValue&, bool&) override { add(key.name); }
  void visit_kind(const Key& key, const KindChoice& choice) override {
    add(key.name);
    if (choice.chosen) defaults_[key.name] = choice.names[*choice.chosen];
    const std::string_view outer = std::exchange(chooser_, key.name);
    const std::string_view outer_kind = kind_;
    for (std::size_t i = 0; i < choice.names.size(); ++i) {
      kind_ = choice.names[i];
      choice.describe(i, *this);
    }
    chooser_ = outer;
    kind_ = outer_kind;
  }
  void visit_entries(const Key& key, const MapEntries&) override { add(key.name); }

 private:
  struct KeyOfKind {
    std::string_view name, chooser, kind;
  };

  void add(std::string_view name) {
    if (!chooser_.empty()) of_kinds_.push_back({name, chooser_, kind_});
    if (!holds(names_, name)) names_.push_back(name);
  }

  [[nodiscard]] std::string_view kind_in(const YamlValue& map, std::string_view chooser) const {
    const auto written = std::ranges::find(map.members, chooser, &YamlMember::key);
    if (written != map.members.end()) return written->value.text;
    const auto by_default = defaults_.find(chooser);
    return by_default == defaults_.end() ? std::string_view{} : by_default->second;
  }

  std::vector<std::string_view> names_;
  std::string_view chooser_, kind_;  // that are being visited; empty outside of kinds
  std::vector<KeyOfKind> of_kinds_;
  std::map<std::string_view, std::string_view> defaults_;  // the kind of a chooser left out
};

// Reads a map of entries that all have the same keys.
class EntryReader {
 public:
  EntryReader(std::string where, const MapEntries& entries, Complaints& complaints, Places& places)
      : where_(std::move(where)),
        entries_(entries),
        rule_(entries.rule),
        complaints_(complaints),
        places_(places) {}

  void read(const YamlValue& map) {
    if (map.kind != YamlValue::Kind::kMap)
      return complaints_.add(
          map.line, fmt::format("{} is {}, not a map", where_, kimesh::kind_name(map)),
          fmt::format("Write one line per {}, such as {}", rule_.noun, rule_.example));
    const std::size_t count = map.members.size();
    if (count < rule_.count_min || count > rule_.count_max)
      return complaints_.add(
          map.line, fmt::format("the number of {}s is {}", rule_.noun, count),
          fmt::format("Write from {} to {} {}s", rule_.count_min, rule_.count_max, rule_.noun));
    for (const YamlMember& member : map.members)
      if (is_common(member)) read_common(member);
    for (const YamlMember& member : map.members)
      if (!is_common(member)) read_entry(member);
  }

 private:
  [[nodiscard]] bool is_common(const YamlMember& member) const {
    return !rule_.common.empty() && member.key == rule_.common;
  }

  void read_common(const YamlMember& member) {
    if (is_first(member.key, member)) read_member(member, member.key, entries_.describe_common);
  }

  void read_entry(const YamlMember& member) {
    std::optional<std::string> name;
    if (shows_well(member.key))
      name = rule_.name_of != nullptr ? rule_.name_of(member.key) : member.key;
    if (!name)
      return complaints_.add(member.line,
                             fmt::format("{} is no name for a {}", quoted(member.key), rule_.noun),
                             fmt::format("Write {}", rule_.names));
    if (!is_first(*name, member)) return;
    const std::size_t index = entries_.append(*name);
    read_member(member, *name, [&](Keys& keys) { entries_.describe(index, keys); });
  }

  bool is_first(const std::string& name, const YamlMember& member) {
    const auto [it, is_new] = lines_.emplace(name, member.line);
    if (!is_new)
      complaints_.add(
          member.line,
          fmt::format("{} {} was already given in line {}", rule_.noun, name, it->second),
          "Keep one of them, or rename one");
    return is_new;
  }

  void read_member(const YamlMember& member, const std::string& name,
                   const std::function<void(Keys&)>& describe) {
    const std::string where = fmt::format("{}.{}", where_, name);
    places_.set(where, member.line);
    read_keys(member.value, where, complaints_, places_, describe);
  }

  std::string where_;
  const MapEntries& entries_;
  const EntryRule& rule_;
  Complaints& complaints_;
  Places& places_;
  std::map<std::string, int> lines_;  // by name
};

class KeyReader final : public Keys {
 public:
  KeyReader(const YamlValue& value, std::string where, Complaints& complaints, Places& places,
            const NameCollector& known)
      : reader_(complaints, value, where, known.names(), known.names_for(value)),
        where_(std::move(where)),
        complaints_(complaints),
        places_(places),
        known_(known) {
    for (const YamlMember& member : value.members) note_places(path_of(member.key), member);
  }

  void section(Key key, const std::function<void(Keys&)>& describe) override {
    visited_.push_back(key.name);
    if (const YamlMember* member = reader_.find(key.name))
      read_keys(member->value, path_of(key.name), complaints_, places_, describe);
  }

  void word_or_section(Key key, std::size_t& index, const std::vector<std::string_view>& words,
                       std::string_view example,
                       const std::function<void(Keys&)>& describe) override {
    visited_.push_back(key.name);
    const YamlMember* member = reader_.find(key.name);
    if (member == nullptr) return;
    if (member->value.kind == YamlValue::Kind::kMap) {
      index = words.size();
      return read_keys(member->value, path_of(key.name), complaints_, places_, describe);
    }
    const auto word = std::ranges::find(words, member->value.text);
    if (member->value.kind == YamlValue::Kind::kText && word != words.end()) {
      index = static_cast<std::size_t>(word - words.begin());
      return;
    }
    reader_.complain(key.name,
                     fmt::format("{} is {}", path_of(key.name), kimesh::kind_name(member->value)),
                     fmt::format("Write one of: {}, {}", joined(words), example));
  }

  void require(std::string_view name, std::string_view example) override {
    reader_.require(name, example);
    required_.insert(std::string(name));
  }
  void refuse(std::initializer_list<std::string_view> names, std::string_view reason) override {
    for (const std::string_view name : names) {
      if (!refused_.insert(std::string(name)).second) continue;
      reader_.refuse({name}, reason);
    }
  }
  void check(bool holds, std::string_view name, std::string message, std::string remedy) override {
    if (holds) return;
    const int line = places_.line(path_of(name));
    complaints_.add(line > 0 ? line : reader_.map().line, std::move(message), std::move(remedy));
  }
  bool is_given(std::string_view name) const override { return reader_.find(name) != nullptr; }
  bool is_wrong(std::string_view name) const override { return wrong_.contains(name); }

  // Complains about keys that belong to another kind than the chosen one. Without a known kind such
  // a complaint would mislead, and there is none.
  void refuse_what_was_not_visited() {
    if (kind_is_unknown_) return;
    for (const YamlMember& member : reader_.map().members) {
      const std::string_view name = member.key;
      if (holds(visited_, name) || !holds(known_.names(), name)) continue;
      const std::string_view chooser = known_.chooser_of(name);
      const auto chosen = chosen_.find(std::string(chooser));
      refuse({name}, chosen == chosen_.end() ? "the other keys that are given"
                                             : fmt::format("{}: {}", chooser, chosen->second));
    }
  }

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    visited_.push_back(key.name);
    if (reader_.find(key.name) == nullptr) return;
    const std::size_t before = reader_.failures();
    std::visit([&](const auto& field) { read(key.name, field); }, value);
    if (reader_.failures() == before)
      is_set = true;
    else
      wrong_.insert(std::string(key.name));
  }

  void visit_kind(const Key& key, const KindChoice& choice) override {
    visited_.push_back(key.name);
    // A required key has no default: the field's kind was not chosen by the user.
    std::optional<std::size_t> index;
    if (!required_.contains(std::string(key.name))) index = choice.chosen;
    if (reader_.find(key.name) != nullptr) {
      index = reader_.choice_of(key.name, choice.names);
      if (index) choice.choose(*index);
    }
    if (!index) {
      kind_is_unknown_ = true;
      return;
    }
    chosen_[std::string(key.name)] = choice.names[*index];
    choice.describe(*index, *this);
  }

  void visit_entries(const Key& key, const MapEntries& entries) override {
    visited_.push_back(key.name);
    if (const YamlMember* member = reader_.find(key.name))
      EntryReader(path_of(key.name), entries, complaints_, places_).read(member->value);
  }

 private:
  // Items of lists and members of maps get places as well.
  void note_places(const std::string& path, const YamlMember& member) {
    places_.set(path, member.line);
    for (std::size_t i = 0; i < member.value.items.size(); ++i)
      places_.set(fmt::format("{}.{}", path, i), member.value.items[i].line);
    for (const YamlMember& inner : member.value.members)
      places_.set(fmt::format("{}.{}", path, inner.key), inner.line);
  }

  [[nodiscard]] std::string path_of(std::string_view key) const {
    return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
  }

  void read(std::string_view name, const NumberValue& field) {
    reader_.read(name, field.value, field.range);
  }
  void read(std::string_view name, const NumberOrWordValue& field) {
    const YamlValue& written = reader_.find(name)->value;
    field.is_word = written.kind == YamlValue::Kind::kText && written.text == field.word;
    if (!field.is_word) reader_.read(name, field.value, field.range, field.word);
  }
  void read(std::string_view name, const WholeValue& field) {
    reader_.read(name, field.value, field.range);
  }
  void read(std::string_view name, const SeedValue& field) { reader_.read(name, field.value); }
  void read(std::string_view name, const DurationValue& field) {
    reader_.read(name, field.value, field.seconds);
  }
  void read(std::string_view name, const RateValue& field) {
    std::optional<double> rate;
    reader_.read_rate(name, rate);
    if (rate) field.bits_per_s = *rate;
  }
  void read(std::string_view name, const BytesValue& field) {
    std::optional<std::uint64_t> bytes;
    reader_.read_bytes(name, bytes);
    if (bytes) field.bytes = *bytes;
  }
  void read(std::string_view name, const ChoiceValue& field) {
    if (const auto index = reader_.choice_of(name, field.names)) field.index = *index;
  }
  void read(std::string_view name, const TextValue& field) { reader_.read(name, field.value); }
  void read(std::string_view name, const PathValue& field) {
    reader_.read(name, field.value);
    if (!field.value.empty()) field.value = resolve_path(field.value, complaints_);
  }
  void read(std::string_view name, const TextListValue& field) {
    reader_.read(name, field.value, field.rule);
  }
  void read(std::string_view name, const TextPairsValue& field) {
    reader_.read(name, field.value, field.rule);
  }
  void read(std::string_view name, const WholeListValue& field) {
    reader_.read(name, field.value, field.each, field.count_max);
  }
  void read(std::string_view name, const NumbersByRoundValue& field) {
    reader_.read(name, field.value, field.each, field.count_max);
  }

  MapReader reader_;
  std::string where_;
  Complaints& complaints_;
  Places& places_;
  const NameCollector& known_;
  std::vector<std::string_view> visited_;
  std::set<std::string> refused_, required_;
  std::set<std::string, std::less<>> wrong_;        // keys whose values were refused
  std::map<std::string, std::string_view> chosen_;  // by the key that chooses
  bool kind_is_unknown_ = false;
};

}  // namespace

void read_keys(const YamlValue& value, const std::string& where, Complaints& complaints,
               Places& places, const std::function<void(Keys&)>& describe) {
  NameCollector known;
  describe(known);
  KeyReader reader(value, where, complaints, places, known);
  if (value.kind != YamlValue::Kind::kMap) return;  // the reader has complained
  describe(reader);
  reader.refuse_what_was_not_visited();
}

}  // namespace kimesh
