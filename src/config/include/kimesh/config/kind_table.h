// Tables of kinds: what a file may name with a key such as `kind:` or `policy:`. A kind is one
// source file that defines its options (name, keys, traits, factory) and one line in its table.
//
//   class Ring final : public TopologyKind { ... };                            // in ring.cpp
//   extern constinit const Kind<TopologyKind> kRing{"ring", "...",
//                                                   make_options<Ring, TopologyKind>};
//
//   KindTable<TopologyKind>& topology_kinds() {                                // in kinds.cpp
//     extern const Kind<TopologyKind> kRing, kTree;
//     static KindTable<TopologyKind> table("topology kind", {kRing, kTree});
//     return table;
//   }
//
// Programs that use kimesh as a library add kinds of their own with KindTable::add before the first
// file is read. Thread: one at a time while kinds are added; any number of readers afterwards.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kimesh/util/check.h"

namespace kimesh {

class Keys;

template <typename Options>
class KindTable;

// Base of the options of a kind.
class KindOptions {
 public:
  virtual ~KindOptions() = default;
  // Declares the kind's own keys.
  virtual void describe(Keys&) {}
  // As it is written in files: "ring".
  [[nodiscard]] const std::string& kind_name() const { return kind_name_; }

 private:
  template <typename Options>
  friend class KindTable;
  std::string kind_name_;  // given by the table that made this
};

template <typename Options>
struct Kind {
  std::string_view name;               // [a-z0-9_]+
  std::string_view help;               // one line, without a full stop
  std::shared_ptr<Options> (*make)();  // options with their defaults
};

template <typename Own, typename Options>
[[nodiscard]] std::shared_ptr<Options> make_options() {
  return std::make_shared<Own>();
}

template <typename Options>
class KindTable {
 public:
  // `what` names the table in sentences: "policy".
  KindTable(std::string_view what, std::initializer_list<Kind<Options>> kinds) : what_(what) {
    for (const Kind<Options>& kind : kinds) add(kind);
  }

  // Names in a table are unique.
  void add(const Kind<Options>& kind) {
    KIMESH_CHECK(!find(kind.name), std::string("a new name for a ") + what_);
    kinds_.push_back(kind);
  }

  [[nodiscard]] const std::string& what() const { return what_; }
  [[nodiscard]] std::size_t size() const { return kinds_.size(); }
  [[nodiscard]] const Kind<Options>& operator[](std::size_t index) const { return kinds_[index]; }
  [[nodiscard]] std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (const Kind<Options>& kind : kinds_) names.push_back(kind.name);
    return names;
  }
  [[nodiscard]] std::vector<std::string_view> helps() const {
    std::vector<std::string_view> helps;
    for (const Kind<Options>& kind : kinds_) helps.push_back(kind.help);
    return helps;
  }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      if (kinds_[i].name == name) return i;
    return std::nullopt;
  }
  // Requires a name of this table.
  [[nodiscard]] std::size_t index_of(std::string_view name) const {
    const auto index = find(name);
    KIMESH_CHECK(index.has_value(), "a " + what_ + " of the table");
    return *index;
  }
  // Options of this kind with their defaults.
  [[nodiscard]] std::shared_ptr<Options> make(std::size_t index) const {
    std::shared_ptr<Options> options = kinds_[index].make();
    options->kind_name_ = kinds_[index].name;
    return options;
  }
  [[nodiscard]] std::shared_ptr<Options> make(std::string_view name) const {
    return make(index_of(name));
  }

 private:
  std::string what_;
  std::vector<Kind<Options>> kinds_;
};

}  // namespace kimesh
