// Reads the typed values of one YAML map. Each read stores a value that is there and right; a wrong
// one is added to the complaints and leaves the target alone, so that one pass finds every problem.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kimesh/config/list_rule.h"
#include "kimesh/config/range.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/util/ids.h"

namespace kimesh {

class MapReader {
 public:
  // `where` names the map in sentences ("optimizer", "nodes.a"; empty: the file as a whole).
  // Complains when `value` is no map, about keys that are not among `known`, and about keys given
  // twice. `value` and `complaints` outlive this.
  MapReader(Complaints& complaints, const YamlValue& value, std::string where,
            std::vector<std::string_view> known);
  // The same, where sentences offer only those of the `known` keys that mean something in `value`.
  MapReader(Complaints& complaints, const YamlValue& value, std::string where,
            const std::vector<std::string_view>& known,
            const std::vector<std::string_view>& offered);

  [[nodiscard]] const YamlMember* find(std::string_view key) const;
  [[nodiscard]] int line_of(std::string_view key) const;  // of the map when the key is not there
  [[nodiscard]] const YamlValue& map() const { return value_; }
  // Complains when `key` is not there.
  void require(std::string_view key, std::string_view example);
  [[nodiscard]] std::size_t failures() const { return failures_; }  // complaints made so far
  // Complains about each of `keys` that is there, because `reason` ("kind: cnn") rules it out.
  void refuse(std::initializer_list<std::string_view> keys, std::string_view reason);
  // Complains about `key`, which is there, at its line.
  void complain(std::string_view key, std::string message, std::string remedy);

  void read(std::string_view key, std::string& target);
  // `or_word`: what else may stand there, for the remedy.
  void read(std::string_view key, double& target, Range range, std::string_view or_word = {});
  void read(std::string_view key, std::int64_t& target, Range range);
  void read(std::string_view key, std::uint64_t& target);  // all 64 bits
  void read(std::string_view key, Duration& target, Range seconds);
  void read_rate(std::string_view key, std::optional<double>& target);
  void read_bytes(std::string_view key, std::optional<std::uint64_t>& target);  // above 0
  void read(std::string_view key, std::vector<std::int64_t>& target, Range each,
            std::size_t count_max);
  // An item that is no text has its complaint, and is empty: the others keep their places.
  void read(std::string_view key, std::vector<std::string>& target, const ListRule& rule);
  // A map of texts.
  void read(std::string_view key, std::vector<std::pair<std::string, std::string>>& target,
            const ListRule& rule);
  // A map from rounds to numbers; the first round is 0, so that every round has one.
  void read(std::string_view key, std::map<Round, double>& target, Range each,
            std::size_t count_max);

  template <typename T>
  void read(std::string_view key, std::optional<T>& target, Range range) {
    if (find(key) == nullptr) return;
    T value{};
    const std::size_t before = failures_;
    read(key, value, range);
    if (failures_ == before) target = value;
  }
  // A 32-bit or int field that is read as a whole number.
  template <typename T>
  void read_whole(std::string_view key, T& target, Range range) {
    auto value = static_cast<std::int64_t>(target);
    read(key, value, range);
    target = static_cast<T>(value);
  }
  // Says whether the key was there and right.
  template <typename T>
  bool choose(std::string_view key, T& target,
              const std::vector<std::pair<std::string_view, std::type_identity_t<T>>>& choices) {
    std::vector<std::string_view> names;
    for (const auto& choice : choices) names.push_back(choice.first);
    const auto index = choice_of(key, names);
    if (index) target = (choices.begin() + *index)->second;
    return index.has_value();
  }

  // Position of the key's word in `names`; nothing: it is not there, or has complained.
  std::optional<std::size_t> choice_of(std::string_view key,
                                       const std::vector<std::string_view>& names);

 private:
  const std::string* text_of(std::string_view key, const std::string& wanted);
  void fail(int line, std::string message, std::string remedy);
  [[nodiscard]] std::string name(std::string_view key) const;  // "optimizer.lr"

  Complaints& complaints_;
  const YamlValue& value_;
  std::string where_;
  std::size_t failures_ = 0;
};

// `text` in quotes for a sentence: shortened, on one line.
[[nodiscard]] std::string quoted(std::string_view text);
// Whether a sentence can show `text` as it is: short, without control characters.
[[nodiscard]] bool shows_well(std::string_view text);
[[nodiscard]] std::string joined(const std::vector<std::string_view>& words);
// "a list": what `value` is, for sentences.
[[nodiscard]] std::string kind_name(const YamlValue& value);
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_whole(std::string_view text);

}  // namespace kimesh
