// Fills the fields of a declaration from pairs in place of a file, for programs and tests.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/config/keys.h"
#include "kimesh/util/result.h"

namespace kimesh {

using KeyTexts = std::vector<std::pair<std::string, std::string>>;

// Sets the declared keys to these values, each written as in a file: {"step", "0.5"}. It handles
// numbers, whole numbers, choices, numbers by round ("0: 0.1, 200: 0.01"), and texts and paths,
// which are taken as they are. Errors: UserInput, where a key is not declared or a value is not in
// its range.
[[nodiscard]] Status set_keys(const std::function<void(Keys&)>& describe,
                              std::span<const std::pair<std::string, std::string>> values);

}  // namespace kimesh
