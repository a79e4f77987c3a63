#include <cctype>

#include "tests/tidy/rules.h"

namespace kimesh::tidy {
namespace {

// Walks over C++ text once; `at_` is always at the start of a token of interest.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), out_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (starts("//")) {
        blank_until(text_.find('\n', at_));
      } else if (starts("/*")) {
        blank_until(after(text_.find("*/", at_ + 2), 2));
      } else if (starts("R\"") && !is_word(before())) {
        blank_raw_string();
      } else if (text_[at_] == '"') {
        blank_literal('"');
      } else if (text_[at_] == '\'' && !std::isalnum(static_cast<unsigned char>(before()))) {
        blank_literal('\'');
      } else {
        ++at_;
      }
    }
    return out_;
  }

 private:
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  char before() const { return at_ == 0 ? '\n' : text_[at_ - 1]; }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  static std::size_t after(std::size_t position, std::size_t length) {
    return position == std::string_view::npos ? position : position + length;
  }

  void blank_until(std::size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') out_[at_] = ' ';
    }
  }

  void blank_raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank_until(open);
    std::string close(text_.substr(at_ + 1, open - at_));  // with a character on each side
    close.front() = ')';
    close.back() = '"';
    blank_until(after(text_.find(close, open), close.size()));
  }

  // A literal ends on its line at the latest, so that a mistake of ours stays small.
  void blank_literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    blank_until(end + 1 <= text_.size() && text_[end] == quote ? end + 1 : end);
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string code_only(std::string_view text) {
  return Blanker(text).run();
}

}  // namespace kimesh::tidy
