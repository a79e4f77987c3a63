// JSON of files and of the network, which nests as deep as its writer likes.
#pragma once

#include <cstddef>
#include <string_view>

namespace kimesh {

// Levels of arrays and objects. Those of kimesh's files nest up to 6 deep. nlohmann's copies and
// texts of a value call themselves once for each level, and a stack holds some ten thousand.
inline constexpr std::size_t kJsonDepthMax = 64;

// `text`, or an empty one where arrays and objects nest deeper than kJsonDepthMax. Takes no memory.
[[nodiscard]] std::string_view shallow_json(std::string_view text);

// The value that `text` holds; a discarded one where it is no JSON, or nests too deep. `Value` is
// one of nlohmann's types, which no public header names.
template <typename Value>
[[nodiscard]] Value parse_json(std::string_view text) {
  return Value::parse(shallow_json(text), nullptr, false);
}

}  // namespace kimesh
