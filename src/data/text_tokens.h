// Text as a stream of tokens, and the numbers that they get.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "byte_file.h"

namespace kimesh {

enum class TokenKind { kCharacter, kWord };

// What is told apart.
struct TokenRules {
  TokenKind tokens = TokenKind::kCharacter;
  std::int64_t count_min = 1;            // a token that is seen less often becomes <unknown>
  std::int64_t vocabulary_max = 10'000;  // the most frequent tokens; others become <unknown>
};

// character: a token is one character of UTF-8. word: a run of letters, digits, apostrophes and
// characters beyond ASCII; every other character is a token of its own, also the end of a line;
// other white space only separates.
class TokenStream {
 public:
  TokenStream(std::string path, TokenKind kind);
  // Of a text in memory; `name` stands for the file's.
  TokenStream(std::string name, const std::string& text, TokenKind kind);
  // False at the end. Errors: UserInput (not readable, not UTF-8, a word over 256 bytes), with the
  // line.
  [[nodiscard]] Result<bool> next(std::string& token);

 private:
  [[nodiscard]] Error refuse(const std::string& why) const;
  // Appends the character that `first` begins.
  [[nodiscard]] Status add_character(std::string& token, int first);
  [[nodiscard]] Result<bool> next_character(std::string& token, int first);
  [[nodiscard]] Result<bool> next_word(std::string& token, int first);

  std::string path_;
  TokenKind kind_;
  std::optional<std::string> unreadable_;  // why; nothing: it is a file that can be read
  std::unique_ptr<std::istream> in_;
  std::uint64_t line_ = 1;
};

// Token → number. The most frequent has the lowest number, equal ones by their bytes. Where a token
// is too rare to have a number, 0 stands for it.
struct Vocabulary {
  std::unordered_map<std::string, std::uint16_t> numbers;
  bool has_unknown = false;  // 0 is <unknown>
  std::uint64_t tokens = 0;  // of the whole text
  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(numbers.size()) + (has_unknown ? 1 : 0);
  }
  [[nodiscard]] std::uint16_t number_of(const std::string& token) const {
    const auto found = numbers.find(token);
    return found == numbers.end() ? std::uint16_t{0} : found->second;
  }
};

[[nodiscard]] bool is_word(const std::string& token);

// Reads the file through. Errors: UserInput.
[[nodiscard]] Result<Vocabulary> read_vocabulary(const std::string& path, const TokenRules& rules);

}  // namespace kimesh
