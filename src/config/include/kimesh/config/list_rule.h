// The lists that may stand at a place of a user's file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kimesh {

// How long a list is, and how sentences speak of it.
struct ListRule {
  std::size_t count_min = 0;
  std::size_t count_max = 0;
  std::string_view each = "names";  // what it is a list of
  std::string_view example = "[one, two]";
  std::string_view word = {};  // may stand for the list, and means an empty one: "all"
  [[nodiscard]] bool holds(std::size_t count) const {
    return count >= count_min && count <= count_max;
  }
  [[nodiscard]] std::string text() const;  // "list of 1 to 8 names"
};

}  // namespace kimesh
