// A text as samples of `length` tokens, each with the token after it.
#include <fmt/format.h>

#include <cmath>

#include "stored_samples.h"
#include "text_tokens.h"

namespace kimesh {
namespace {

constexpr const char* kRemedy = "Use a longer text, or a smaller data.length";

class TextSamples : public StoredSamples {
 public:
  // Sample k is tokens [first + k · length, first + (k + 1) · length] of the file, both ends in it.
  TextSamples(const DataConfig& config, std::shared_ptr<const Vocabulary> vocabulary,
              std::uint64_t first, std::size_t samples)
      : config_(config), vocabulary_(std::move(vocabulary)), first_(first) {
    shape_.kind = SampleShape::Kind::kTokens;
    shape_.length = config.length;
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
    std::uint64_t end = 0;                                  // tokens from first_ on that are wanted
    for (const std::uint32_t sample : samples) {
      rows.emplace(sample, rows.size());
      end = std::max(end, (sample + std::uint64_t{1}) * length + 1);
    }
    out.tokens.resize(samples.size() * (length + 1));
    TokenStream stream(config_.path, config_.tokens);
    std::string token;
    std::uint16_t* row = nullptr;
    for (std::uint64_t at = 0; at < first_ + end; ++at) {
      const auto more = stream.next(token);
      if (!more) return more.error();
      if (!*more) return refused_file(config_.path, "it has become shorter", "Start again");
      if (at < first_) continue;
      const std::uint64_t place = (at - first_) % length;
      if (place == 0) {
        if (row != nullptr) row[length] = vocabulary_->number_of(token);
        const auto found = rows.find((at - first_) / length);
        row = found == rows.end() ? nullptr : out.tokens.data() + found->second * (length + 1);
      }
      if (row != nullptr) row[place] = vocabulary_->number_of(token);
    }
    return ok_status();
  }

 private:
  DataConfig config_;
  std::shared_ptr<const Vocabulary> vocabulary_;  // shared by training and test set
  std::uint64_t first_;
  SampleShape shape_;
  SampleClasses classes_;
};

}  // namespace

std::vector<NeededFile> files_of_text(const DataConfig& config) {
  return {{config.path, false, "Point data.path at a text in UTF-8"}};
}

Result<OpenedData> open_text(const DataConfig& config) {
  auto read = read_vocabulary(config);
  if (!read) return read.error();
  const auto vocabulary = std::make_shared<const Vocabulary>(std::move(*read));
  const auto length = static_cast<std::uint64_t>(config.length);
  const std::uint64_t tokens = vocabulary->tokens;
  const auto kept =
      static_cast<std::uint64_t>(std::llround(config.test_share * static_cast<double>(tokens)));
  const std::uint64_t first_of_test = tokens - std::min(kept, tokens);
  if (first_of_test <= length || tokens - first_of_test <= length)
    return refused_file(config.path,
                        fmt::format("its {} tokens do not hold a sample of {} for training and one "
                                    "for the test",
                                    tokens, length),
                        kRemedy);
  const std::uint64_t train = (first_of_test - 1) / length;
  const std::uint64_t test = (tokens - first_of_test - 1) / length;
  if (train > kStoredSamplesMax)
    return refused_file(config.path, fmt::format("it holds over {} samples", kStoredSamplesMax),
                        "Use a larger data.length");
  return OpenedData{
      std::make_shared<TextSamples>(config, vocabulary, 0, static_cast<std::size_t>(train)),
      std::make_shared<TextSamples>(config, vocabulary, first_of_test,
                                    static_cast<std::size_t>(test))};
}

}  // namespace kimesh
