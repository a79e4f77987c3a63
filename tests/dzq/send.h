// Messages of dzq, made from an estimate of zeros.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "kimesh/compress/compressor.h"
#include "tests/compress/inputs.h"

namespace kimesh::dzq_test {

// With a step where there is one, else with a budget.
inline Setting dzq(Rounding rounding, std::uint64_t budget_bytes, float step = 0) {
  const Named named{"dzq", "dzq", {}};
  Setting setting{make_codec("dzq"), Budget::bytes(budget_bytes), 0, rounding};
  if (step > 0) setting = {make_of_size(named, "step", step), Budget::own(), 0, rounding};
  return setting;
}

struct Sent {
  Advanced made;
  std::vector<float> values;  // what was added to an estimate of zeros
};

inline Sent send(std::span<const float> target, std::span<const Piece> pieces,
                 const Setting& setting, bool with_curve = false) {
  CompressScratch scratch;
  Sent sent{{}, std::vector<float>(target.size(), 0.0f)};
  auto made = advance(target, sent.values, pieces, setting, scratch, with_curve);
  EXPECT_TRUE(made.ok());
  sent.made = std::move(*made);
  return sent;
}

inline constexpr Rounding kRoundings[] = {Rounding::kTowardsZero, Rounding::kNearest};

}  // namespace kimesh::dzq_test
