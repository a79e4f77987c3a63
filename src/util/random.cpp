#include "kimesh/util/random.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Multipliers and Weyl constants of Philox4x32 (Salmon et al., SC 2011, table 2).
constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kPhiloxRounds = 10;

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> c,
                                           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return c;
}

Random::Random(std::uint64_t seed, std::uint32_t node, std::uint32_t round, Purpose purpose)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, node, round, static_cast<std::uint32_t>(purpose)} {}

std::uint32_t Random::next_u32() {
  if (used_ == block_.size()) {
    KIMESH_CHECK(counter_[0] != std::numeric_limits<std::uint32_t>::max(),
                 "a stream ends before its counter repeats");
    block_ = philox4x32_10(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Random::next_u64() {
  const std::uint64_t low = next_u32();
  return low | std::uint64_t{next_u32()} << 32;
}

double Random::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - u is never 0
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double Random::gamma(double shape) {
  KIMESH_CHECK(shape > 0, "the shape of a gamma distribution is positive");
  if (shape < 1) {  // gamma(s) = gamma(s + 1) * U^(1/s)
    const double scale = std::pow(1 - uniform(), 1 / shape);
    return gamma(shape + 1) * scale;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {  // accepts more than 95 % of the draws for every shape
    const double x = normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

std::uint32_t Random::below(std::uint32_t bound) {
  KIMESH_CHECK(bound > 0, "a draw below 0 is impossible");
  // Lemire, "Fast random integer generation in an interval", 2019: reject the few low products
  // that would make some results likelier than others.
  const std::uint32_t threshold = (0u - bound) % bound;
  for (;;) {
    const std::uint64_t product = std::uint64_t{next_u32()} * bound;
    if (static_cast<std::uint32_t>(product) >= threshold)
      return static_cast<std::uint32_t>(product >> 32);
  }
}

}  // namespace kimesh
