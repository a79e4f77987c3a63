// Text that a saved model writes.
#include "kimesh/train/generate.h"

#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kimesh/data/token_text.h"
#include "tests/data/read_all.h"
#include "tests/train/fixture.h"

namespace kimesh::generate_test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLetters = 4;

class Generate : public ::testing::Test {
 protected:
  Generate() {
    std::string pattern = (fs::temp_directory_path() / "kimesh-generate-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Generate() override { fs::remove_all(path_); }

  // What follows "a" where the script looks scores up in its parameter `e`, laid out as `layout`,
  // and each letter's highest score is that of the next one.
  [[nodiscard]] std::string text_of(const torch::Tensor& layout) const {
    torch::jit::Module net("Net");
    net.register_parameter("e", layout, false);
    net.define("def forward(self, x):\n    return torch.embedding(self.e, x)\n");
    net.save((path_ / "net.pt").string());
    std::ofstream text(path_ / "abcd.txt");
    for (int i = 0; i < 100; ++i) text << "abcd";
    text.close();
    RunConfig config;
    config.model =
        model_options("kind: torchscript, tokens: true, file: " + (path_ / "net.pt").string());
    config.data = data_options("kind: text, length: 8, path: " + (path_ / "abcd.txt").string());
    TrainingData data = make_data(config, 1);
    std::vector<float> scores(kLetters * kLetters);
    for (std::int64_t i = 0; i < kLetters; ++i) scores[i * kLetters + (i + 1) % kLetters] = 50;
    data.start = std::make_shared<const std::vector<float>>(std::move(scores));
    const auto tokens = generate_tokens(config, data, {{0}, 6, 1.0, 1, {}});
    EXPECT_TRUE(tokens.ok()) << tokens.error().message;
    return tokens.ok() ? data.source->token_text()->text_of(*tokens) : "";
  }

  fs::path path_;
};

// Seen to fail: values copied row after row into memory that the script lays out otherwise.
TEST_F(Generate, WritesTheSameTextHoweverAScriptLaysItsParametersOut) {
  const auto rows = torch::zeros({kLetters, kLetters});
  EXPECT_EQ(text_of(rows), "bcdabc");
  EXPECT_EQ(text_of(rows.t()), "bcdabc") << "transposed";
  EXPECT_EQ(text_of(torch::zeros({1}).expand({kLetters, kLetters})), "bcdabc") << "one value";
}

}  // namespace
}  // namespace kimesh::generate_test
