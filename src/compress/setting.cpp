#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/quantise.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/util/check.h"
#include "src/compress/packed.h"
#include "src/compress/seeded.h"

namespace kimesh {
namespace {

constexpr std::array<std::pair<Compressor, std::string_view>, 11> kNames = {{
    {Compressor::kNothing, "nothing"},
    {Compressor::kIdentity, "identity"},
    {Compressor::kTopk, "topk"},
    {Compressor::kThreshold, "threshold"},
    {Compressor::kRandk, "randk"},
    {Compressor::kDgc, "dgc"},
    {Compressor::kRedsync, "redsync"},
    {Compressor::kSign, "sign"},
    {Compressor::kInt8, "int8"},
    {Compressor::kInt4, "int4"},
    {Compressor::kDzq, "dzq"},
}};

// dzq: a head and one element whatever it is, and what any further element can take at most: two
// symbols of 12 bits, a sign, and two numbers of 35.
constexpr std::size_t kDzqOneBytes = 20, kDzqElementBytes = 12;

}  // namespace

std::uint64_t budget_of_bits(double bits, std::size_t size) {
  KIMESH_CHECK(bits > 0, "bits per element");
  const double bytes = std::floor(bits * static_cast<double>(size) / 8);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes));
}

std::uint32_t keep_of_ratio(double ratio, std::size_t size) {
  KIMESH_CHECK(ratio > 0 && ratio <= 1, "a ratio in (0, 1]");
  const double keep = std::round(ratio * static_cast<double>(size));
  return static_cast<std::uint32_t>(std::max(1.0, keep));
}

std::string_view name_of(Compressor compressor) {
  return std::ranges::find(kNames, compressor, &std::pair<Compressor, std::string_view>::first)
      ->second;
}

std::optional<Compressor> compressor_named(std::string_view name) {
  for (const auto& [compressor, its_name] : kNames)
    if (its_name == name) return compressor;
  return std::nullopt;
}

CompressorTraits traits_of(Compressor compressor) {
  switch (compressor) {
    case Compressor::kNothing:
    case Compressor::kIdentity:
    case Compressor::kInt8:
    case Compressor::kInt4:
      return {.conservative = true, .meets_budgets = false, .on_devices = true};
    case Compressor::kTopk:
    case Compressor::kThreshold:
    case Compressor::kDzq:
      return {.conservative = true, .meets_budgets = true, .on_devices = true};
    case Compressor::kRandk:
    case Compressor::kDgc:
    case Compressor::kRedsync:
      return {.conservative = true, .meets_budgets = true, .on_devices = false};
    case Compressor::kSign:
      return {.conservative = false, .meets_budgets = false, .on_devices = true};
  }
  check_failed(__FILE__, __LINE__, "compressor", "one of the list");
}

bool is_conservative(const Setting& setting) {
  const bool rounds =
      setting.compressor == Compressor::kInt8 || setting.compressor == Compressor::kInt4 ||
      setting.compressor == Compressor::kDzq || setting.values != ValueFormat::kFloat32;
  return traits_of(setting.compressor).conservative && !setting.scaled &&
         (!rounds || setting.rounding == Rounding::kTowardsZero);
}

std::size_t smallest_message_bytes(const Setting& setting, std::size_t size) {
  if (size == 0) return 0;
  if (setting.compressor == Compressor::kDzq) return kDzqOneBytes;
  Setting one = setting;
  one.budget_bytes = 0;
  one.keep = 1;
  return one.compressor == Compressor::kThreshold ? sparse_bytes(one.values, one.indices, 1, size)
                                                  : bytes_of(one, size);
}

std::size_t bytes_of(const Setting& setting, std::size_t size) {
  if (setting.budget_bytes > 0) {
    Setting all = setting;
    all.budget_bytes = 0;
    all.keep = static_cast<std::uint32_t>(size);
    return std::min<std::uint64_t>(setting.budget_bytes, bytes_of(all, size));
  }
  switch (setting.compressor) {
    case Compressor::kNothing:
      return 0;
    case Compressor::kIdentity:
      return size * (setting.values == ValueFormat::kFloat32 ? sizeof(float) : sizeof(float) / 2);
    case Compressor::kTopk:
    case Compressor::kDgc:
    case Compressor::kRedsync:
      return sparse_bytes(setting.values, setting.indices, setting.keep, size);
    case Compressor::kThreshold:  // everything may reach it
      return sparse_bytes(setting.values, setting.indices, size, size);
    case Compressor::kRandk:
      return seeded_bytes(setting.values, setting.keep);
    case Compressor::kSign:
      return kernels::quantised_bytes(kernels::Blocks::kSign, size);
    case Compressor::kInt8:
      return kernels::quantised_bytes(kernels::Blocks::kInt8, size);
    case Compressor::kInt4:
      return kernels::quantised_bytes(kernels::Blocks::kInt4, size);
    case Compressor::kDzq:
      return kDzqOneBytes + kDzqElementBytes * size;
  }
  check_failed(__FILE__, __LINE__, "compressor", "one of the list");
}

}  // namespace kimesh
