#include "kimesh/config/key_values.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace kimesh {
namespace {

using Values = std::span<const std::pair<std::string, std::string>>;

template <typename T>
bool read(const std::string& text, const Range& range, T& field) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, number);
  if (wrong != std::errc{} || rest != end || !range.holds(static_cast<double>(number)))
    return false;
  field = number;
  return true;
}

// Whether the text is a value of this kind; the field holds it then.
struct Read {
  const std::string& text;
  bool operator()(const NumberValue& field) const { return read(text, field.range, field.value); }
  bool operator()(const WholeValue& field) const { return read(text, field.range, field.value); }
  bool operator()(const ChoiceValue& field) const {
    const auto found = std::ranges::find(field.names, text);
    if (found == field.names.end()) return false;
    field.index = static_cast<std::size_t>(found - field.names.begin());
    return true;
  }
  bool operator()(const NumbersByRoundValue& field) const {
    std::map<Round, double> numbers;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view pair = rest.substr(0, rest.find(", "));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 2));
      const std::size_t colon = pair.find(": ");
      if (colon == std::string_view::npos) return false;
      Round round = 0;
      double number = 0;
      if (!read(std::string(pair.substr(0, colon)), {0, kRoundsMax}, round) ||
          !read(std::string(pair.substr(colon + 2)), field.each, number))
        return false;
      numbers[round] = number;
    }
    if (!numbers.contains(0)) return false;
    field.value = std::move(numbers);
    return true;
  }
  bool operator()(const TextValue& field) const { return take(field.value); }
  bool operator()(const PathValue& field) const { return take(field.value); }
  [[nodiscard]] bool take(std::string& value) const {
    value = text;
    return true;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

class KeySetter final : public Keys {
 public:
  explicit KeySetter(Values values) : values_(values) {}

  void section(Key, const std::function<void(Keys&)>&) override {}
  void word_or_section(Key, std::size_t&, const std::vector<std::string_view>&, std::string_view,
                       const std::function<void(Keys&)>&) override {}
  bool is_given(std::string_view name) const override { return find(name) != nullptr; }

  [[nodiscard]] Status result() const {
    if (!wrong_.empty()) return Error{ErrorCode::kUserInput, wrong_};
    for (const auto& [name, text] : values_)
      if (!visited_.contains(name))
        return Error{ErrorCode::kUserInput, "there is no key '" + name + "'"};
    return ok_status();
  }

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    visited_.insert(std::string(key.name));
    const std::string* text = find(key.name);
    if (text == nullptr) return;
    if (std::visit(Read{*text}, value))
      is_set = true;
    else
      wrong_ = std::string(key.name) + " is '" + *text + "'";
  }
  void visit_entries(const Key&, const MapEntries&) override {}
  void visit_kind(const Key& key, const KindChoice& choice) override {
    visited_.insert(std::string(key.name));
    std::optional<std::size_t> index = choice.chosen;
    if (const std::string* name = find(key.name)) {
      const auto found = std::ranges::find(choice.names, *name);
      if (found == choice.names.end()) {
        wrong_ = std::string(key.name) + " is '" + *name + "'";
        return;
      }
      index = static_cast<std::size_t>(found - choice.names.begin());
      choice.choose(*index);
    }
    if (index) choice.describe(*index, *this);
  }

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const {
    for (const auto& [key, text] : values_)
      if (key == name) return &text;
    return nullptr;
  }

  Values values_;
  std::set<std::string> visited_;
  std::string wrong_;
};

}  // namespace

Status set_keys(const std::function<void(Keys&)>& describe, Values values) {
  KeySetter setter(values);
  describe(setter);
  return setter.result();
}

}  // namespace kimesh
