// The section `model` in a program that brings no models, and one model of a test's own.
#include "kimesh/objective/model_options.h"

#include <gmock/gmock.h>

#include "kimesh/config/options_of_text.h"

namespace kimesh::model_options_test {
namespace {

class Deep final : public ModelKind {
 public:
  std::int64_t smallest_side() const override { return 8; }
  std::shared_ptr<NeuralNetwork> make_network(const SampleShape&) const override { return nullptr; }
};

TEST(ModelOptions, AProgramWithoutModelsSaysSo) {
  const auto loaded = load_options<ModelOptions>("{kind: mlp}");
  ASSERT_EQ(loaded.problems.size(), 1u);
  EXPECT_EQ(to_string(loaded.problems[0]),
            "the text:1: kind is 'mlp', and this program knows none. Use a program that brings "
            "some, as kimesh does.");
  EXPECT_EQ(loaded.value.kind, nullptr);
}

TEST(Misfit, IsAModelThatWantsOtherSamplesOrLargerImages) {
  const Deep deep;
  EXPECT_EQ(find_misfit(deep, false, std::nullopt), std::nullopt);
  EXPECT_EQ(find_misfit(deep, false, 8), std::nullopt);
  EXPECT_EQ(find_misfit(deep, false, 7)->remedy, "Use larger images");
  EXPECT_THAT(find_misfit(deep, false, 1)->message, testing::HasSubstr("rows of numbers"));
  EXPECT_THAT(find_misfit(deep, true, std::nullopt)->message, testing::HasSubstr("data is text"));
}

}  // namespace
}  // namespace kimesh::model_options_test
