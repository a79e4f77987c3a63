// What the tests of all compressors feed them: every setting there is, and vectors of every kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/compress/vectors.h"

namespace kimesh {

enum class Kind : std::uint8_t {
  kGaussian,
  kHeavyTailed,
  kConstant,
  kTies,
  kSparse,
  kDenormal,
  kZeros,
  kAdversarial,
};
inline constexpr std::uint32_t kKinds = 8;

inline float adversarial(Random& random) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const float awkward[] = {kMax / 4, -kMax / 4, 1e-38f,        -1e-45f,     1.0f,   -1.0f,
                           0.0f,     -0.0f,     0x1.fffffep0f, -0x1.fep20f, 1e-30f, 65504.0f};
  return awkward[random.below(12)];
}

inline float draw(Random& random, Kind kind, float constant) {
  switch (kind) {
    case Kind::kGaussian:
      return static_cast<float>(1e-3 * random.normal());
    case Kind::kHeavyTailed:
      return static_cast<float>(random.normal() * std::exp(3 * random.normal()));
    case Kind::kConstant:
      return constant;
    case Kind::kTies:
      return static_cast<float>(random.below(5)) - 2;
    case Kind::kSparse:
      return random.below(20) == 0 ? static_cast<float>(random.normal()) : 0.0f;
    case Kind::kDenormal:
      return std::bit_cast<float>(random.below(1000) | random.below(2) << 31);
    case Kind::kZeros:
      return 0;
    case Kind::kAdversarial:
      return adversarial(random);
  }
  return 0;
}

inline std::vector<float> vector_of(Random& random, Kind kind, std::size_t size) {
  const auto constant = static_cast<float>(random.normal());
  std::vector<float> x(size);
  for (float& value : x) value = draw(random, kind, constant);
  return x;
}

// Sizes around the edges of blocks, and some others.
inline std::size_t random_size(Random& random) {
  const std::size_t edges[] = {0, 1, 2, 3, 8, 64, 128, 256, 512, 768, 4096};
  if (random.below(3) == 0) return 1 + random.below(3000);
  const std::size_t edge = edges[random.below(11)], step = random.below(3);
  return edge + step - std::min<std::size_t>(1, edge + step);
}

// A vector of `size` elements in 1 to 6 pieces, some of them empty.
inline std::vector<Piece> pieces_of(Random& random, std::size_t size) {
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  for (std::uint32_t left = random.below(6); left > 0; --left) {
    const std::size_t part = random.below(static_cast<std::uint32_t>(size - offset) + 1);
    pieces.push_back({offset, part});
    offset += part;
  }
  pieces.push_back({offset, size - offset});
  return pieces;
}

// One channel's input.
struct Input {
  std::vector<float> target, estimate;
  std::vector<Piece> pieces;
};
inline Input input_of(Random& random, Kind kind, std::size_t size) {
  Input input{vector_of(random, kind, size), std::vector<float>(size, 0.0f),
              pieces_of(random, size)};
  if (random.below(2) == 0) input.estimate = vector_of(random, kind, size);
  return input;
}
inline Input random_input(Random& random) {
  const auto kind = static_cast<Kind>(random.below(kKinds));
  return input_of(random, kind, random_size(random));
}

// Every compressor's every format and rounding, without its size.
struct Named {
  std::string name;
  Setting setting;
};

inline void add_values(const std::string& name, const Setting& setting, std::vector<Named>& all) {
  constexpr const char* kValues[] = {"float32", "float16", "bfloat16", "int4"};
  for (int values = 0; values < 4; ++values)
    for (const Rounding rounding : {Rounding::kTowardsZero, Rounding::kNearest}) {
      Setting with = setting;
      with.values = static_cast<ValueFormat>(values);
      with.rounding = rounding;
      if (values == 0 && rounding == Rounding::kNearest) continue;  // nothing is rounded
      const char* where = rounding == Rounding::kNearest ? "_nearest" : "";
      all.push_back({name + "_" + kValues[values] + where, with});
    }
}

inline void add_roundings(const std::string& name, Setting setting, std::vector<Named>& all) {
  setting.rounding = Rounding::kTowardsZero;
  all.push_back({name, setting});
  setting.rounding = Rounding::kNearest;
  all.push_back({name + "_nearest", setting});
}

inline void add_sparse(Compressor compressor, std::vector<Named>& all) {
  const std::string name(name_of(compressor));
  add_values(name + "_raw", {.compressor = compressor, .indices = IndexFormat::kRaw}, all);
  add_values(name + "_packed", {.compressor = compressor, .indices = IndexFormat::kPacked}, all);
  add_values(name + "_coded", {.compressor = compressor, .indices = IndexFormat::kCoded}, all);
}

inline std::vector<Named> settings_of(Compressor compressor) {
  std::vector<Named> all;
  const std::string name(name_of(compressor));
  switch (compressor) {
    case Compressor::kTopk:
    case Compressor::kThreshold:
    case Compressor::kDgc:
    case Compressor::kRedsync:
      add_sparse(compressor, all);
      break;
    case Compressor::kRandk:
      add_values(name, {.compressor = compressor}, all);
      all.push_back({"randk_scaled", {.compressor = compressor, .scaled = true}});
      break;
    case Compressor::kIdentity:
      all.push_back({name, {.compressor = compressor}});
      add_roundings("identity_bfloat16",
                    {.compressor = compressor, .values = ValueFormat::kBfloat16}, all);
      break;
    case Compressor::kInt8:
    case Compressor::kInt4:
      add_roundings(name, {.compressor = compressor}, all);
      break;
    case Compressor::kDzq:
      add_roundings(name, {.compressor = compressor}, all);
      add_roundings(name + "_fixed", {.compressor = compressor, .coder = Coder::kFixedWidth}, all);
      break;
    case Compressor::kNothing:
    case Compressor::kSign:
      all.push_back({name, {.compressor = compressor}});
      break;
  }
  return all;
}

// The setting with a size: elements, a threshold that some element reaches, or a budget.
inline Setting sized(const Setting& setting, Random& random, const Input& input) {
  Setting with = setting;
  with.rotation = random.next_u32();
  const std::size_t size = input.target.size();
  if (size == 0) return with;
  with.keep = 1 + random.below(static_cast<std::uint32_t>(size));
  if (random.below(2) == 0) with.keep = 1 + with.keep / 20;
  const std::uint32_t at = random.below(static_cast<std::uint32_t>(size));
  const float magnitude = std::abs(input.target[at] - input.estimate[at]);
  with.threshold = magnitude > 0 && std::isfinite(magnitude) ? magnitude : 1e-3f;
  with.allocation = random.below(2) == 0 ? Allocation::kGlobal : Allocation::kProportional;
  if (traits_of(with.compressor).meets_budgets && random.below(2) == 0) {
    with.keep = 0;
    const std::size_t smallest = smallest_message_bytes(with, size);
    with.budget_bytes = smallest + random.below(static_cast<std::uint32_t>(6 * size + 1));
  }
  if (with.compressor == Compressor::kDzq) {
    if (with.budget_bytes == 0) with.step = with.threshold;
    with.keep = 0;
    with.floor = random.below(2) * random.below(static_cast<std::uint32_t>(size) + 1) / 16;
  }
  return with;
}

}  // namespace kimesh
