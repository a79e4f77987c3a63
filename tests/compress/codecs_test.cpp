// Codecs as a table: what each declares, and codecs that a program adds.
#include "kimesh/compress/codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kimesh/compress/compressor.h"
#include "tests/compress/inputs.h"

namespace kimesh::codecs_test {
namespace {

constexpr Form kHalvesForm{180};

Result<Content> decode_halves(std::span<const std::byte> payload, std::size_t size) {
  if (payload.size() != size * sizeof(float)) return malformed("a number of floats");
  kernels::Entries entries;
  entries.resize(size);
  for (std::uint32_t j = 0; j < size; ++j) entries.indices[j] = j;
  if (size > 0) std::memcpy(entries.values.data(), payload.data(), payload.size());
  return Content{AddEntries{std::move(entries)}};
}

// Sends half of every element.
class Halves final : public HostCodec {
 public:
  void describe(Keys& keys) override {
    keys.number("factor", factor_, {0, 1, true}, "share of every element that is sent");
  }
  CodecTraits traits() const override { return {.conservative = false}; }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{kHalvesForm, "halves", decode_halves}};
    return kForms;
  }
  std::size_t bytes_max(std::size_t, std::size_t size) const override { return dense_bytes(size); }
  Form encode(std::span<const float> difference, const Setting&,
              std::vector<std::byte>& bytes) const override {
    bytes.resize(difference.size_bytes());
    for (std::size_t j = 0; j < difference.size(); ++j) {
      const float sent = static_cast<float>(factor_) * difference[j];
      std::memcpy(bytes.data() + j * sizeof(float), &sent, sizeof(float));
    }
    return kHalvesForm;
  }

 private:
  double factor_ = 0.5;
};

const Kind<Codec> kHalves{"halves", "half of everything", make_options<Halves, Codec>};

// Seen to fail for the estimate of −0, to which the far side adds 0, where the sender left out
// zeros.
TEST(AddedCodec, SendsMessagesThatTheFarSideAdds) {
  EXPECT_EQ(validate(kHalvesForm, {}, 0).error().code, ErrorCode::kMalformed);
  EXPECT_EQ(user_forms(), "");
  add_codec(kHalves);
  EXPECT_TRUE(codecs().find("halves").has_value());
  EXPECT_EQ(user_forms(), "180 halves\n");
  EXPECT_TRUE(is_known(kHalvesForm));

  const std::vector<float> target{1, -2, -0.0f, 4};
  std::vector<float> estimate{0, 0, -0.0f, 2}, far = estimate;
  CompressScratch scratch;
  const Setting setting = setting_of("halves", {{"factor", "0.5"}});
  auto made = advance(target, estimate, std::vector<Piece>{{0, 4}}, setting, scratch, true);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->form, kHalvesForm);
  EXPECT_EQ(estimate, (std::vector<float>{0.5f, -1, 0, 3}));
  EXPECT_EQ(made->missing_energy, 0.25 + 1 + 1);
  EXPECT_EQ(made->curve.size(), 1u);
  ASSERT_TRUE(apply(made->form, made->bytes, far).ok());
  EXPECT_EQ(std::memcmp(far.data(), estimate.data(), far.size() * sizeof(float)), 0);
  EXPECT_FALSE(apply(made->form, std::span(made->bytes).first(8), far).ok());
}

TEST(AddedCodecDeathTest, TakesNoFormOfKimesh) {
  class Thief final : public HostCodec {
    CodecTraits traits() const override { return {}; }
    std::span<const WireForm> forms() const override {
      static const WireForm kForms[] = {{Form::kDzq, "thief", decode_halves}};
      return kForms;
    }
    std::size_t bytes_max(std::size_t, std::size_t) const override { return 0; }
    Form encode(std::span<const float>, const Setting&, std::vector<std::byte>&) const override {
      return Form::kDzq;
    }
  };
  EXPECT_DEATH(add_codec({"thief", "takes", make_options<Thief, Codec>}), "from 128 to 255");
}

TEST(Codecs, DeclareWhatTheyPromise) {
  const auto those = [](bool CodecTraits::*trait) {
    std::vector<std::string> names;
    for (const std::string_view name : codecs().names())
      if (name != "halves" && codecs().make(name)->traits().*trait) names.emplace_back(name);
    return names;
  };
  using testing::ElementsAre;
  EXPECT_THAT(those(&CodecTraits::conservative),
              ElementsAre("identity", "topk", "threshold", "randk", "dgc", "redsync", "int8",
                          "int4", "dzq"));
  EXPECT_THAT(those(&CodecTraits::meets_budgets),
              ElementsAre("topk", "randk", "dgc", "redsync", "dzq"));
  EXPECT_THAT(those(&CodecTraits::keeps_elements), ElementsAre("topk", "randk", "dgc", "redsync"));
  EXPECT_THAT(those(&CodecTraits::keeps_largest), ElementsAre("topk", "dgc", "redsync"));
  EXPECT_THAT(those(&CodecTraits::on_devices),
              ElementsAre("identity", "topk", "threshold", "sign", "sign2", "int8", "int4", "dzq"));
  EXPECT_THAT(those(&CodecTraits::has_curves), ElementsAre("topk", "dzq"));
  EXPECT_FALSE(make_codec("randk", {{"scaled", "true"}})->traits().conservative);
}

TEST(Codecs, AreEqualWhereTheirKeysAre) {
  EXPECT_EQ(setting_of("dzq", {{"step", "0.5"}}), setting_of("dzq", {{"step", "0.5"}}));
  EXPECT_FALSE(setting_of("dzq", {{"step", "0.5"}}) == setting_of("dzq", {{"step", "0.25"}}));
  EXPECT_FALSE(setting_of("dzq") == setting_of("dzq", {{"step", "0.25"}}));
  EXPECT_FALSE(setting_of("int4") == setting_of("int8"));
  EXPECT_FALSE(setting_of("int4") == Setting{});
}

// Elements of one message are worth a hundred times those of the other.
TEST(Divide, GivesMoreToWhatIsWorthSending) {
  Random random = stream(3);
  std::vector<float> loud(20'000), quiet(20'000);
  for (float& x : loud) x = static_cast<float>(random.normal());
  for (float& x : quiet) x = static_cast<float>(0.01 * random.normal());
  const Piece piece{0, loud.size()};
  const Curve loud_curve = measure_curve(loud, {&piece, 1});
  const Curve quiet_curve = measure_curve(quiet, {&piece, 1});
  const std::vector<const Curve*> curves{&loud_curve, &quiet_curve};
  const std::vector<std::uint32_t> floors{20, 20};
  for (const char* name : {"topk", "dzq"}) {
    const CodecPtr codec = make_codec(name);
    const double total = 4000 / codec->unit_bytes();
    std::vector<double> parts = codec->divide({curves, floors, total, Rounding::kNearest});
    for (double& part : parts) part *= codec->unit_bytes();
    EXPECT_NEAR(parts[0] + parts[1], 4000, 400) << name;
    EXPECT_GT(parts[0], 20 * parts[1]) << name;
    EXPECT_GE(parts[1], 0.99 * static_cast<double>(codec->bytes_about(20, 20'000))) << name;
  }
}

}  // namespace
}  // namespace kimesh::codecs_test
