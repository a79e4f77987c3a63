#include "text_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <vector>

#include "kimesh/util/readable.h"

namespace kimesh {
namespace {

constexpr std::size_t kWordBytesMax = 256;       // longer than any language's words
constexpr std::size_t kDistinctMax = 4'000'000;  // some 400 MB while they are counted
constexpr int kEnd = std::char_traits<char>::eof();

bool is_word_byte(int c) {
  return c >= 0x80 || std::isalnum(c) != 0 || c == '\'';
}

// Bytes of the character that `first` begins; 0: it begins none.
std::size_t utf8_length(int first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

}  // namespace

bool is_word(const std::string& token) {
  return !token.empty() && is_word_byte(static_cast<unsigned char>(token.front()));
}

// A pipe is not opened: that would wait for its writer.
TokenStream::TokenStream(std::string path, TokenKind kind)
    : path_(std::move(path)), kind_(kind), unreadable_(why_unreadable(path_)) {
  auto file = std::make_unique<std::ifstream>();
  if (!unreadable_) file->open(path_, std::ios::binary);
  in_ = std::move(file);
}

TokenStream::TokenStream(std::string name, const std::string& text, TokenKind kind)
    : path_(std::move(name)), kind_(kind), in_(std::make_unique<std::istringstream>(text)) {}

Error TokenStream::refuse(const std::string& why) const {
  return refused_file(fmt::format("{}:{}", path_, line_), why,
                      "Point data.path at a text file in UTF-8");
}

Result<bool> TokenStream::next(std::string& token) {
  if (unreadable_ || !*in_)
    return refuse(fmt::format("the file cannot be read ({})", unreadable_.value_or("it is gone")));
  token.clear();
  int first = in_->rdbuf()->sbumpc();
  if (kind_ == TokenKind::kWord)
    while (first != kEnd && first != '\n' && first < 0x80 && std::isspace(first) != 0)
      first = in_->rdbuf()->sbumpc();
  if (first == kEnd) return false;
  if (kind_ == TokenKind::kWord && is_word_byte(first)) return next_word(token, first);
  return next_character(token, first);
}

Status TokenStream::add_character(std::string& token, int first) {
  const std::size_t length = utf8_length(first);
  std::size_t bytes = 1;
  token.push_back(static_cast<char>(first));
  for (; bytes < length && (in_->rdbuf()->sgetc() & 0xc0) == 0x80 && in_->rdbuf()->sgetc() != kEnd;
       ++bytes)
    token.push_back(static_cast<char>(in_->rdbuf()->sbumpc()));
  return bytes == length ? ok_status() : Status(refuse("the bytes there are not UTF-8"));
}

Result<bool> TokenStream::next_character(std::string& token, int first) {
  if (const Status added = add_character(token, first); !added) return added.error();
  if (first == '\n') ++line_;
  return true;
}

Result<bool> TokenStream::next_word(std::string& token, int first) {
  if (const Status added = add_character(token, first); !added) return added.error();
  while (in_->rdbuf()->sgetc() != kEnd && is_word_byte(in_->rdbuf()->sgetc())) {
    if (const Status added = add_character(token, in_->rdbuf()->sbumpc()); !added)
      return added.error();
    if (token.size() > kWordBytesMax)
      return refuse(fmt::format("a word there is over {} bytes", kWordBytesMax));
  }
  return true;
}

Result<Vocabulary> read_vocabulary(const std::string& path, const TokenRules& rules) {
  TokenStream stream(path, rules.tokens);
  std::unordered_map<std::string, std::uint64_t> counts;
  Vocabulary vocabulary;
  std::string token;
  for (;;) {
    const auto more = stream.next(token);
    if (!more) return more.error();
    if (!*more) break;
    ++vocabulary.tokens;
    ++counts[token];
    if (counts.size() > kDistinctMax)
      return refused_file(path, fmt::format("it has over {} different tokens", kDistinctMax),
                          "Write tokens: character");
  }
  std::vector<std::pair<std::string, std::uint64_t>> ranked;
  for (const auto& entry : counts)
    if (entry.second >= static_cast<std::uint64_t>(rules.count_min)) ranked.push_back(entry);
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const auto most = static_cast<std::size_t>(rules.vocabulary_max);
  vocabulary.has_unknown = ranked.size() < counts.size() || ranked.size() > most;
  ranked.resize(std::min(ranked.size(), most - (vocabulary.has_unknown ? 1 : 0)));
  for (const auto& entry : ranked)
    vocabulary.numbers.emplace(entry.first, static_cast<std::uint16_t>(vocabulary.size()));
  return vocabulary;
}

}  // namespace kimesh
