// Bytes from outside: whatever they are, the estimate is either moved by a whole message or not at
// all.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "kimesh/compress/compressor.h"
#include "tests/compress/vectors.h"

namespace kimesh {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<std::byte> topk_bytes(const std::vector<std::uint32_t>& indices,
                                  const std::vector<float>& values) {
  std::vector<std::byte> bytes(4 * (indices.size() + values.size()));
  const std::size_t half = 4 * indices.size();
  if (half > 0) std::memcpy(bytes.data(), indices.data(), half);  // memcpy refuses null pointers
  std::memcpy(bytes.data() + half, values.data(), 4 * values.size());
  return bytes;
}

void expect_malformed(Form form, const std::vector<std::byte>& bytes, const char* why) {
  const std::vector<float> before{1, 2, 3, 4};
  std::vector<float> estimate = before;
  const Status status = apply(form, bytes, estimate);
  ASSERT_FALSE(status.ok()) << why;
  EXPECT_EQ(status.error().code, ErrorCode::kMalformed);
  EXPECT_TRUE(same_bits(estimate, before)) << why;
  EXPECT_FALSE(validate(form, bytes, 4).ok());
}

// Seen to fail with each check of validate taken out, one at a time.
TEST(Apply, RefusesWhatNoCorrectPeerSendsAndLeavesTheEstimateAlone) {
  const float infinity = std::numeric_limits<float>::infinity();
  expect_malformed(Form::kSparse, std::vector<std::byte>(7), "half an entry");
  expect_malformed(Form::kSparse, std::vector<std::byte>(12), "one and a half entries");
  expect_malformed(Form::kSparse, topk_bytes({0, 4}, {1, 1}), "an index out of range");
  expect_malformed(Form::kSparse, topk_bytes({0, 0xffffffff}, {1, 1}), "the largest index");
  expect_malformed(Form::kSparse, topk_bytes({1, 1}, {1, 1}), "an index twice");
  expect_malformed(Form::kSparse, topk_bytes({2, 1}, {1, 1}), "indices that fall");
  expect_malformed(Form::kSparse, topk_bytes({0, 3}, {1, std::nanf("")}), "NaN at the end");
  expect_malformed(Form::kSparse, topk_bytes({0, 3}, {-infinity, 1}), "infinity at the start");
  expect_malformed(Form::kDense, std::vector<std::byte>(12), "a dense message that is too short");
  expect_malformed(Form::kDense, std::vector<std::byte>(20), "a dense message that is too long");
  expect_malformed(Form::kDense, topk_bytes({}, {1, 2, 3, infinity}), "infinity, dense");
  expect_malformed(Form::kEmpty, std::vector<std::byte>(1), "a payload in an empty message");
  expect_malformed(static_cast<Form>(200), std::vector<std::byte>(16), "an unknown form");
}

TEST(Apply, TakesPayloadsThatBeginAtAnyAddress) {
  const std::vector<std::byte> bytes = topk_bytes({1, 3}, {0.5f, -0.5f});
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  std::vector<float> estimate(4, 1.0f);
  ASSERT_TRUE(apply(Form::kSparse, std::span(shifted).subspan(1), estimate).ok());
  EXPECT_EQ(estimate, (std::vector<float>{1, 1.5f, 1, 0.5f}));
}

}  // namespace
}  // namespace kimesh
