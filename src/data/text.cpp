// kind: text. A text as samples of `length` tokens, each with the token after it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/config/keys.h"
#include "kimesh/data/token_text.h"
#include "limits.h"
#include "stored_samples.h"
#include "text_tokens.h"

namespace kimesh {
namespace {

constexpr const char* kTextRemedy = "Use a longer text, or a smaller data.length";

// Sample k is tokens [first + k · length, first + (k + 1) · length] of the file, both ends in it.
struct TextPlace {
  std::string path;
  TokenKind tokens = TokenKind::kCharacter;
  std::int64_t length = 1;
  std::uint64_t first = 0;
};

class TextSamples : public StoredSamples, public TokenText {
 public:
  TextSamples(TextPlace place, std::shared_ptr<const Vocabulary> vocabulary, std::size_t samples)
      : place_(std::move(place)), vocabulary_(std::move(vocabulary)) {
    shape_.kind = SampleShape::Kind::kTokens;
    shape_.length = place_.length;
    shape_.vocabulary = shape_.classes = vocabulary_->size();
    classes_.labels.resize(samples);
  }

  const SampleShape& shape() const override { return shape_; }
  const SampleClasses& classes() const override { return classes_; }
  Result<SampleScale> scale(std::span<const std::uint32_t>) const override { return SampleScale{}; }

  // Tokens have no fixed place in a file: it is read up to the last one that is wanted.
  Status read(std::span<const std::uint32_t> samples, Dataset& out) const override {
    const auto length = static_cast<std::uint64_t>(shape_.length);
    std::unordered_map<std::uint64_t, std::uint64_t> rows;  // sample → its row
    std::uint64_t end = 0;  // tokens from `first` on that are wanted
    for (const std::uint32_t sample : samples) {
      rows.emplace(sample, rows.size());
      end = std::max(end, (sample + std::uint64_t{1}) * length + 1);
    }
    out.tokens.resize(samples.size() * (length + 1));
    const std::uint64_t first = place_.first;
    TokenStream stream(place_.path, place_.tokens);
    std::string token;
    std::uint16_t* row = nullptr;
    for (std::uint64_t at = 0; at < first + end; ++at) {
      const auto more = stream.next(token);
      if (!more) return more.error();
      if (!*more) return refused_file(place_.path, "it has become shorter", "Start again");
      if (at < first) continue;
      const std::uint64_t place = (at - first) % length;
      if (place == 0) {
        if (row != nullptr) row[length] = vocabulary_->number_of(token);
        const auto found = rows.find((at - first) / length);
        row = found == rows.end() ? nullptr : out.tokens.data() + found->second * (length + 1);
      }
      if (row != nullptr) row[place] = vocabulary_->number_of(token);
    }
    return ok_status();
  }

  const TokenText* token_text() const override { return this; }

  Result<std::vector<std::uint16_t>> tokens_of(const std::string& text) const override {
    TokenStream stream("the text", text, place_.tokens);
    std::vector<std::uint16_t> tokens;
    std::string token;
    for (;;) {
      const auto more = stream.next(token);
      if (!more) return Error{ErrorCode::kUserInput, "it is not UTF-8, or has too long a word"};
      if (!*more) return tokens;
      if (!vocabulary_->has_unknown && !vocabulary_->numbers.contains(token))
        return Error{ErrorCode::kUserInput,
                     fmt::format("'{}' does not occur in {}", token, place_.path)};
      tokens.push_back(vocabulary_->number_of(token));
    }
  }

  std::string text_of(std::span<const std::uint16_t> tokens) const override {
    std::vector<std::string> names(static_cast<std::size_t>(vocabulary_->size()), "<unknown>");
    for (const auto& [name, number] : vocabulary_->numbers) names[number] = name;
    const bool words = place_.tokens == TokenKind::kWord;
    std::string text;
    for (const std::uint16_t token : tokens) {
      const std::string& name = names.at(token);
      if (words && is_word(name) && !text.empty() && text.back() != '\n') text += ' ';
      text += name;
    }
    return text;
  }

 private:
  TextPlace place_;
  std::shared_ptr<const Vocabulary> vocabulary_;  // shared by training and test set
  SampleShape shape_;
  SampleClasses classes_;
};

class Text final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.require("path", "path: with the text file");
    keys.path("path", path_, "the text, in UTF-8");
    keys.choice("tokens", rules_.tokens,
                {{"character", TokenKind::kCharacter}, {"word", TokenKind::kWord}},
                "what a token is; a word is a run of letters, digits and apostrophes");
    keys.whole("length", length_, limits::kTextLengths, "tokens of a sample");
    keys.whole("count_min", rules_.count_min, limits::kTokenCounts,
               "a token that is seen less often becomes the unknown one");
    keys.whole("vocabulary_max", rules_.vocabulary_max, limits::kVocabularies,
               "the most frequent tokens that are told apart; others become the unknown one");
    keys.number("test_share", test_share_, limits::kTestShares,
                "share of the text, its end, that is kept out for the test");
  }
  bool holds_text() const override { return true; }
  std::vector<NeededFile> files() const override {
    return {{path_, false, "Point data.path at a text in UTF-8"}};
  }

  Result<OpenedData> open() const override {
    auto read = read_vocabulary(path_, rules_);
    if (!read) return read.error();
    const auto vocabulary = std::make_shared<const Vocabulary>(std::move(*read));
    const auto length = static_cast<std::uint64_t>(length_);
    const std::uint64_t tokens = vocabulary->tokens;
    const auto kept =
        static_cast<std::uint64_t>(std::llround(test_share_ * static_cast<double>(tokens)));
    const std::uint64_t first_of_test = tokens - std::min(kept, tokens);
    if (first_of_test <= length || tokens - first_of_test <= length)
      return refused_file(path_,
                          fmt::format("its {} tokens do not hold a sample of {} for training and "
                                      "one for the test",
                                      tokens, length),
                          kTextRemedy);
    const std::uint64_t train = (first_of_test - 1) / length;
    const std::uint64_t test = (tokens - first_of_test - 1) / length;
    if (std::max(train, test) > kStoredSamplesMax)
      return refused_file(path_, fmt::format("it holds over {} samples", kStoredSamplesMax),
                          "Use a larger data.length");
    return OpenedData{part(vocabulary, 0, train), part(vocabulary, first_of_test, test)};
  }

 private:
  [[nodiscard]] std::shared_ptr<const StoredSamples> part(
      const std::shared_ptr<const Vocabulary>& vocabulary, std::uint64_t first,
      std::uint64_t samples) const {
    return std::make_shared<TextSamples>(TextPlace{path_, rules_.tokens, length_, first},
                                         vocabulary, static_cast<std::size_t>(samples));
  }

  std::string path_;
  TokenRules rules_;
  std::int64_t length_ = 64;
  double test_share_ = limits::kTestShareDefault;
};

}  // namespace

extern const Kind<DataKind> kText;
const Kind<DataKind> kText = {"text", "a text, of which models learn the token that follows",
                              make_options<Text, DataKind>};

}  // namespace kimesh
