// Whole messages of channels on a device against those of the host.
#include <cstring>

#include "kimesh/compress/compressor.h"
#include "tests/cuda/cuda_fixture.h"
#include "tests/settings.h"

namespace kimesh::cuda_test::messages_test {
namespace {

class CudaMessages : public Cuda {};

struct Asked {
  std::string name;
  Setting setting;
};

Setting topk(std::uint64_t keep, const KeyTexts& keys = {}) {
  Setting setting = setting_of("topk", keys, Budget::keep(keep));
  setting.rotation = 5;
  return setting;
}

Setting listed(std::span<const Piece> pieces) {
  Setting setting = topk(0);
  setting.allocation = Allocation::kListed;
  for (const Piece& piece : pieces) {
    setting.shares.push_back(static_cast<std::uint32_t>(piece.size / 3));
    setting.budget.amount += setting.shares.back();
  }
  return setting;
}

// Every setting of dzq that asks something else of the passes.
void add_dzq(std::size_t size, Rounding rounding, const std::string& how, std::vector<Asked>& all) {
  const auto few = static_cast<std::uint32_t>(std::max<std::size_t>(1, size / 50));
  const auto add = [&](const std::string& name, Setting setting, std::uint32_t floor) {
    setting.rounding = rounding;
    setting.floor = floor;
    all.push_back({name + how, setting});
  };
  const Setting in_budget = setting_of("dzq", {}, Budget::bytes(40 + size / 20));
  add("dzq", in_budget, 0);
  add("dzq with a floor", in_budget, few / 3);
  add("dzq with a step", setting_of("dzq", {{"step", "0.7"}}), few / 3);
  add("dzq with a step that only floors reach", setting_of("dzq", {{"step", "1e6"}}), few / 3);
}

// Every codec that devices have, in each way that asks something else of the passes.
std::vector<Asked> everything(std::size_t size, std::span<const Piece> pieces) {
  const auto few = static_cast<std::uint32_t>(std::max<std::size_t>(1, size / 50));
  std::vector<Asked> all;
  all.push_back({"dense", Setting{}});
  all.push_back({"bfloat16", setting_of("identity", {{"values", "bfloat16"}})});
  all.push_back({"topk", topk(few)});
  all.push_back({"topk, all of it", topk(size)});
  all.push_back(
      {"topk, packed float16", topk(few, {{"values", "float16"}, {"indices", "packed"}})});
  all.push_back({"topk, global with a floor", topk(few)});
  all.back().setting.allocation = Allocation::kGlobal;
  all.back().setting.floor = few - few / 4;
  if (const Setting thirds = listed(pieces); thirds.budget.amount > 0)
    all.push_back({"topk, listed", thirds});
  all.push_back({"topk, coded in a budget",
                 setting_of("topk", {{"indices", "coded"}}, Budget::bytes(40 + size / 20))});
  all.push_back({"threshold", setting_of("threshold", {{"threshold", "1.5"}})});
  all.push_back(
      {"threshold, longer than all of it", setting_of("threshold", {{"threshold", "1e-30"}})});
  for (const Rounding rounding : {Rounding::kTowardsZero, Rounding::kNearest}) {
    const std::string how = rounding == Rounding::kNearest ? ", nearest" : "";
    for (const std::string name : {"int8", "int4", "sign", "sign2"}) {
      all.push_back({name + how, setting_of(name)});
      all.back().setting.rounding = rounding;
    }
    add_dzq(size, rounding, how, all);
  }
  return all;
}

std::vector<Piece> pieces_of(std::size_t size) {
  const std::size_t first = size / 2, second = size / 7;
  return {
      {0, first}, {first, second}, {first + second, 0}, {first + second, size - first - second}};
}

double energy_between(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double apart = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    sum += apart * apart;
  }
  return sum;
}

// A policy reads nothing else of a curve.
void expect_near(const Curve& got, const Curve& expected, const std::string& where) {
  ASSERT_EQ(got.size(), expected.size()) << where;
  for (std::size_t l = 0; l < got.size(); ++l) {
    EXPECT_EQ(got[l].size, expected[l].size) << where;
    const double all = expected[l].missing_energy(0);
    for (const double share : {0.0, 0.01, 0.1, 0.5}) {
      const double kept = share * expected[l].size;
      EXPECT_NEAR(got[l].missing_energy(kept), expected[l].missing_energy(kept), 0.01 * all)
          << where << ", piece " << l << ", " << kept << " kept";
    }
  }
}

// Seen to fail with values that are added twice where a step has added them already, with pieces'
// entries that stay at the piece's beginning, and with a floor taken from all entries.
TEST_F(CudaMessages, AreTheHostsByteByByteAndLeaveTheSameEstimates) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{33}, std::size_t{1000}, kSizes.back()}) {
    const std::vector<Piece> pieces = pieces_of(size);
    for (const auto& [kind, name] : kKinds) {
      const std::vector<float> target = draw(kind, size, kSeed);
      const std::vector<float> start = draw(Kind::kSparse, size, kSeed + 1);
      const kernels::MemoryBuffer device_target = put(target);
      const double before = energy_between(target, start);
      for (const Asked& asked : everything(size, pieces)) {
        const std::string where = asked.name + ", " + name + ", size " + std::to_string(size);
        CompressScratch scratch, device_scratch;
        std::vector<float> estimate = start;
        const auto expected = advance(target, estimate, pieces, asked.setting, scratch, true);
        ASSERT_TRUE(expected.ok()) << where << ": " << expected.error().message;
        const kernels::MemoryBuffer device_estimate = put(start);
        const auto got = advance(device(), device_target.floats(), device_estimate.floats(), pieces,
                                 asked.setting, device_scratch, true);
        ASSERT_TRUE(got.ok()) << where << ": " << got.error().message;
        EXPECT_EQ(got->form, expected->form) << where;
        ASSERT_TRUE(got->bytes == expected->bytes)
            << where << ": " << got->bytes.size() << " bytes, " << expected->bytes.size();
        EXPECT_EQ(bits(get(device_estimate)), bits(estimate)) << where;
        EXPECT_EQ(got->kept, expected->kept) << where;
        EXPECT_TRUE(is_near(got->wanted_energy, expected->wanted_energy)) << where;
        EXPECT_NEAR(got->missing_energy, expected->missing_energy, 1e-12 * before) << where;
        if (size >= 1000) expect_near(got->curve, expected->curve, where);

        std::vector<float> far = start;
        const kernels::MemoryBuffer device_far = put(start);
        ASSERT_TRUE(apply(got->form, got->bytes, far).ok()) << where;
        ASSERT_TRUE(apply(got->form, got->bytes, device(), device_far.floats()).ok()) << where;
        EXPECT_EQ(bits(get(device_far)), bits(far)) << where;
        EXPECT_EQ(bits(far), bits(estimate)) << where;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CudaMessages, NameTheElementThatIsNotFiniteAndLeaveTheEstimateAlone) {
  constexpr std::size_t kSize = 1000, kBad = 777;
  const std::vector<Piece> pieces = pieces_of(kSize);
  std::vector<float> target = draw(Kind::kGaussian, kSize, kSeed);
  target[kBad] = kNan;
  const std::vector<float> start = draw(Kind::kGaussian, kSize, kSeed + 1);
  const kernels::MemoryBuffer held = put(target), estimate = put(start);
  for (const Asked& asked : everything(kSize, pieces)) {
    CompressScratch scratch;
    const auto made =
        advance(device(), held.floats(), estimate.floats(), pieces, asked.setting, scratch, true);
    ASSERT_FALSE(made.ok()) << asked.name;
    EXPECT_EQ(made.error().code, ErrorCode::kNotFinite) << asked.name;
    EXPECT_NE(made.error().message.find(std::to_string(kBad)), std::string::npos)
        << made.error().message;
    EXPECT_EQ(bits(get(estimate)), bits(start)) << asked.name;
  }
}

TEST_F(CudaMessages, ThatAreMalformedLeaveTheEstimateAlone) {
  const std::vector<float> start = draw(Kind::kGaussian, 100, kSeed);
  const kernels::MemoryBuffer estimate = put(start);
  const std::vector<std::byte> bytes(9, std::byte{0xff});
  for (int form = 0; form < 256; ++form) {
    const Status applied = apply(static_cast<Form>(form), bytes, device(), estimate.floats());
    ASSERT_FALSE(applied.ok()) << "form " << form;
    EXPECT_EQ(applied.error().code, ErrorCode::kMalformed);
    EXPECT_EQ(bits(get(estimate)), bits(start)) << "form " << form;
  }
}

}  // namespace
}  // namespace kimesh::cuda_test::messages_test
