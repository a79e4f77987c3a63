// The secret word that a page beyond loopback asks for.
#pragma once

#include <string>
#include <string_view>

#include "kimesh/util/result.h"

namespace kimesh {

// Fewer characters could be guessed; more are no safer.
inline constexpr std::size_t kTokenCharsMin = 16, kTokenCharsMax = 256;

// Reads a token of printable characters without blanks, whose file nobody else may read. Errors:
// UserInput; no sentence holds the token.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

// Whether both texts are the same. Takes as long for every `given` of at most kTokenCharsMax
// characters, so that its duration tells nothing of `token`.
[[nodiscard]] bool is_token(std::string_view token, std::string_view given);

}  // namespace kimesh
