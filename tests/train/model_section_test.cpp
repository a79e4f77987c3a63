// The section `model` of a config: the keys of every kind, and what is wrong with them.
#include <gmock/gmock.h>

#include "kimesh/run/run_config.h"
#include "tests/config/bad_files.h"
#include "tests/config/text_file.h"
#include "tests/train/fixture.h"

namespace kimesh::model_section_test {
namespace {

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/train/bad/";

class BadModel : public testing::TestWithParam<std::string> {};

TEST_P(BadModel, IsRefusedWithTheSentencesItExpects) {
  const auto sentences = expected_sentences(kFolder + GetParam());
  EXPECT_FALSE(sentences.empty()) << "the file has no `# expect:` line";
  EXPECT_THAT(told_sentences(load_config(kFolder + GetParam()).problems, kFolder),
              testing::ElementsAreArray(sentences));
}

INSTANTIATE_TEST_SUITE_P(Golden, BadModel, testing::ValuesIn(bad_files(kFolder, "config-")),
                         [](const auto& file) { return test_name(file.param); });

std::string canonical(const std::string& model, const std::string& data) {
  const TextFile file("config.yaml", "model: " + model + "\ndata: " + data +
                                         "\noptimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 9}\n");
  const auto loaded = load_config(file.path());
  for (const Problem& problem : loaded.problems) ADD_FAILURE() << to_string(problem);
  return loaded.value.canonical();
}

TEST(ModelSection, WhatNodesCompareTellsEveryKeyOfEveryKind) {
  std::vector<std::string> all;
  for (const char* model :
       {"{kind: mlp}", "{kind: mlp, hidden: [8]}", "{kind: mlp, hidden: []}", "{kind: cnn}",
        "{kind: cnn, channels: [8]}", "{kind: cnn, dense: 8}", "{kind: resnet}",
        "{kind: resnet, depth: 20}", "{kind: resnet, width: 8}", "{kind: vgg}",
        "{kind: vgg, depth: 13}", "{kind: vgg, width: 8}"})
    all.push_back(canonical(model, "{kind: cifar10, path: x}"));
  for (const char* model :
       {"{kind: lstm}", "{kind: lstm, layers: 3}", "{kind: lstm, hidden: 8}",
        "{kind: lstm, embedding: 8}", "{kind: gru}", "{kind: gru, layers: 3}",
        "{kind: gru, hidden: 8}", "{kind: gru, embedding: 8}", "{kind: transformer}",
        "{kind: transformer, layers: 3}", "{kind: transformer, heads: 8}",
        "{kind: transformer, embedding: 8}", "{kind: transformer, tied: true}"})
    all.push_back(canonical(model, "{kind: text, path: x}"));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " and " << j;
  EXPECT_EQ(canonical("{kind: mlp}", "{kind: digits}"),
            canonical("{hidden: [256, 128], kind: mlp}", "{kind: digits}"));
}

TEST(ModelSection, AnUnknownKindIsToldWhatThereIs) {
  const auto loaded = load_options<ModelOptions>("{kind: perceptron}");
  ASSERT_EQ(loaded.problems.size(), 1u);
  for (const std::string_view name : model_kinds().names())
    EXPECT_THAT(loaded.problems[0].remedy, testing::HasSubstr(std::string(name)));
}

// The first and the last of the table, so that a kind more is told as well.
TEST(ModelSection, AModelThatDoesNotSuitIsToldWhichDo) {
  const auto misfit = find_misfit(*model_kinds().make("mlp"), true, std::nullopt);
  ASSERT_TRUE(misfit.has_value());
  EXPECT_THAT(misfit->remedy,
              testing::AllOf(testing::HasSubstr("lstm"), testing::HasSubstr("transformer")));
  EXPECT_THAT(misfit->remedy, testing::Not(testing::HasSubstr("mlp")));
}

}  // namespace
}  // namespace kimesh::model_section_test
