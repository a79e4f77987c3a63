#include "kimesh/records/parse_json.h"

namespace kimesh {

// Up to the first mistake of `text` this sees the strings and levels that a parser sees.
std::string_view shallow_json(std::string_view text) {
  std::size_t depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepthMax) return {};
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return text;
}

}  // namespace kimesh
