// What the tests of the twins share: a device, or a reason to skip, and vectors to try.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/kernels/memory.h"

namespace kimesh::cuda_test {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Around what a warp, a block, a chunk of the digest and a tile hold.
inline const std::vector<std::size_t> kSizes = {
    0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 8191, 8192, 8193, 16400, 20001};

// One seed for each test; failures print it.
inline constexpr std::uint32_t kSeed = 20261121;

enum class Kind { kGaussian, kTies, kZeros, kSparse, kDenormal, kConstant, kHeavyTailed };
inline const std::vector<std::pair<Kind, std::string>> kKinds = {
    {Kind::kGaussian, "gaussian"}, {Kind::kTies, "ties"},         {Kind::kZeros, "zeros"},
    {Kind::kSparse, "sparse"},     {Kind::kDenormal, "denormal"}, {Kind::kConstant, "constant"},
    {Kind::kHeavyTailed, "heavy"}};

inline std::vector<float> draw(Kind kind, std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(size);
  for (float& value : x) {
    const float g = normal(random);
    switch (kind) {
      case Kind::kGaussian:
        value = g;
        break;
      case Kind::kTies:
        value = std::round(g);
        break;
      case Kind::kZeros:
        value = g < 0 ? -0.0f : 0.0f;
        break;
      case Kind::kSparse:
        value = std::abs(g) < 2 ? 0.0f : g;
        break;
      case Kind::kDenormal:
        value = g * 1e-41f;
        break;
      case Kind::kConstant:
        value = 0.75f;
        break;
      case Kind::kHeavyTailed:
        value = std::exp(4 * g) * (g < 0.1f ? -1.0f : 1.0f);
        break;
    }
  }
  return x;
}

// Bits, since NaN is not equal to itself and both zeros are equal.
inline std::vector<std::uint32_t> bits(std::span<const float> x) {
  std::vector<std::uint32_t> all;
  all.reserve(x.size());
  for (const float value : x) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

inline bool is_near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)) ||
         (std::isnan(a) && std::isnan(b));
}

class Cuda : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = kernels::open_cuda();
    if (opened) {
      device_ = std::move(*opened);
    } else {
      why_not_ = opened.error().message;
    }
  }
  static void TearDownTestSuite() { device_.reset(); }
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << why_not_;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
  }

  static kernels::Memory& device() { return *device_; }
  static kernels::MemoryBuffer put(std::span<const float> x) {
    auto buffer = device_->allocate(x.size());
    EXPECT_TRUE(buffer.ok()) << buffer.error().message;
    device_->upload(x, buffer->floats());
    return std::move(*buffer);
  }
  // A difference on the device, and the parts of a pass over it.
  struct Passed {
    kernels::MemoryBuffer target, estimate;
    std::vector<kernels::Quota> quotas;
    kernels::SelectScratch scratch{};
    kernels::DifferencePass pass(bool update, kernels::MagnitudeObserver* observer = nullptr) {
      return {target.floats(), estimate.floats(), quotas, scratch, update, observer};
    }
  };
  static std::vector<float> get(const kernels::MemoryBuffer& buffer) {
    std::vector<float> x(buffer.size());
    const Status done = device_->download(buffer.floats(), x);
    EXPECT_TRUE(done.ok()) << (done ? "" : done.error().message);
    return x;
  }

 private:
  static inline std::unique_ptr<kernels::Memory> device_;
  static inline std::string why_not_;
};

}  // namespace kimesh::cuda_test
