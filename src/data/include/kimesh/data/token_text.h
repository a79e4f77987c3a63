// What the tokens of a text stand for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

class TokenText {
 public:
  virtual ~TokenText() = default;
  // Errors: UserInput: the text is not UTF-8, or has a token that no sample of the data has.
  [[nodiscard]] virtual Result<std::vector<std::uint16_t>> tokens_of(
      const std::string& text) const = 0;
  // Words are joined by spaces where a text has them. The unknown token reads <unknown>.
  [[nodiscard]] virtual std::string text_of(std::span<const std::uint16_t> tokens) const = 0;
};

}  // namespace kimesh
