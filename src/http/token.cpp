#include "kimesh/http/token.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/util/private_file.h"

namespace kimesh {
namespace {

bool is_printable(char c) {
  return c > ' ' && c <= '~';
}

// The character of the text, and zero behind its end.
unsigned char at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

}  // namespace

Result<std::string> read_token(const std::string& path) {
  auto token = read_private_file(
      {path, "token", fmt::format("Make one: (umask 077; openssl rand -hex 24 > {})", path),
       kTokenCharsMax + 2});
  if (!token) return token;
  const bool fits = token->size() >= kTokenCharsMin && token->size() <= kTokenCharsMax;
  if (fits && std::ranges::all_of(*token, is_printable)) return token;
  return Error{ErrorCode::kUserInput,
               fmt::format("{0} holds no token: write {1} to {2} letters and digits on one line, "
                           "for example with openssl rand -hex 24 > {0}",
                           path, kTokenCharsMin, kTokenCharsMax)};
}

bool is_token(std::string_view token, std::string_view given) {
  unsigned difference = token.size() == given.size() ? 0 : 1;
  // Every character is looked at, whether those before it differ or not.
  for (std::size_t i = 0; i < kTokenCharsMax; ++i)
    difference |= static_cast<unsigned>(at(token, i) ^ at(given, i));
  return difference == 0;
}

}  // namespace kimesh
