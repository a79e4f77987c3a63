#include "kimesh/kernels/histogram.h"

#include "tests/cuda/cuda_fixture.h"

namespace kimesh::cuda_test::histogram_test {
namespace {

// The bins of all parts, one after the other.
class BinRecorder final : public kernels::MagnitudeObserver {
 public:
  void observe(const kernels::PartMagnitudes& magnitudes) override {
    EXPECT_EQ(magnitudes.part, bins.size() / kernels::kMagnitudeBins);
    bins.insert(bins.end(), magnitudes.bins.begin(), magnitudes.bins.end());
  }
  std::vector<kernels::MagnitudeBin> bins;
};

class CudaHistogram : public Cuda {
 protected:
  // By the definition of histogram.h, because MagnitudeHistogram may count a sample.
  static void expect_same(const std::vector<float>& target, const std::vector<float>& estimate,
                          const std::vector<kernels::Quota>& parts) {
    constexpr std::uint32_t kAbove = (1u << kernels::kMagnitudeBinBits) - 1;
    std::vector<kernels::MagnitudeBin> expected(parts.size() * kernels::kMagnitudeBins);
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::size_t j = parts[p].offset; j < parts[p].offset + parts[p].size; ++j) {
        const std::uint32_t word = kernels::magnitude_bits(target[j] - estimate[j]) + kAbove;
        kernels::MagnitudeBin& bin =
            expected[p * kernels::kMagnitudeBins + (word >> kernels::kMagnitudeBinBits)];
        ++bin.count;
        bin.above_edge += word & kAbove;
      }
    BinRecorder recorder;
    Passed on_device{put(target), put(estimate), parts};
    const auto done = device().observe_magnitudes(on_device.pass(false, &recorder));
    ASSERT_TRUE(done.ok());
    EXPECT_TRUE(*done);
    EXPECT_TRUE(recorder.bins == expected);
  }
};

TEST_F(CudaHistogram, EveryElementIsInItsBin) {
  for (const std::size_t size : kSizes)
    for (const auto& [kind, name] : kKinds) {
      SCOPED_TRACE(name + ", " + std::to_string(size) + " elements");
      expect_same(draw(kind, size, kSeed), draw(kind, size, kSeed + 1), {{0, size, 0}});
    }
}

// Seen to fail with the parts' bins written over one another.
TEST_F(CudaHistogram, PartsAreCountedByThemselves) {
  std::vector<kernels::Quota> parts;
  std::size_t size = 0;
  for (const std::size_t length : {5, 8191, 8237, 0, 1, 20000}) {
    parts.push_back({size, length, 0});
    size += length;
  }
  expect_same(draw(Kind::kHeavyTailed, size, kSeed), std::vector<float>(size), parts);
}

}  // namespace
}  // namespace kimesh::cuda_test::histogram_test
