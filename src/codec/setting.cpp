#include "kimesh/codec/setting.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kimesh/codec/codec.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

bool has_same_codec(const Setting& a, const Setting& b) {
  if (a.codec == nullptr || b.codec == nullptr) return a.codec == b.codec;
  return a.codec == b.codec || *a.codec == *b.codec;
}

std::string complaint_about_shares(const Setting& setting,
                                   std::span<const std::uint32_t> piece_sizes) {
  if (setting.budget.kind != Budget::Kind::kKeep) return "'shares' do not go without 'keep'";
  if (setting.shares.size() != piece_sizes.size())
    return "'shares' has " + std::to_string(setting.shares.size()) + " numbers for " +
           std::to_string(piece_sizes.size()) + " layers";
  std::uint64_t sum = 0;
  for (std::size_t l = 0; l < piece_sizes.size(); ++l) {
    sum += setting.shares[l];
    if (setting.shares[l] > piece_sizes[l])
      return "'shares' keeps " + std::to_string(setting.shares[l]) + " of " +
             std::to_string(piece_sizes[l]) + " elements";
  }
  return sum == setting.budget.elements() ? "" : "'shares' do not sum to 'keep'";
}

std::string complaint_about_budget(const Setting& setting, std::size_t size) {
  const CodecTraits traits = setting.codec->traits();
  const Budget& budget = setting.budget;
  const std::string& name = setting.codec->kind_name();
  switch (budget.kind) {
    case Budget::Kind::kDense:
      return {};
    case Budget::Kind::kOwn:
      return setting.codec->has_own_size() ? ""
                                           : name + " has neither a budget nor a size of its own";
    case Budget::Kind::kKeep:
      if (!traits.keeps_elements) return name + " does not count elements, as 'keep' does";
      return budget.amount >= 1 && budget.amount <= size
                 ? ""
                 : "'keep' is " + std::to_string(budget.amount) + " of " + std::to_string(size) +
                       " elements";
    case Budget::Kind::kBytes:
      if (!traits.meets_budgets) return name + " meets no budget in bytes";
      return budget.amount >= setting.codec->bytes_min(size) ? ""
                                                             : "'budget_bytes' holds no message";
  }
  return {};
}

}  // namespace

bool operator==(const Setting& a, const Setting& b) {
  return has_same_codec(a, b) && a.budget == b.budget && a.rotation == b.rotation &&
         a.rounding == b.rounding && a.allocation == b.allocation && a.floor == b.floor &&
         a.shares == b.shares;
}

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

std::size_t bytes_of(const Setting& setting, std::size_t size) {
  const Budget& budget = setting.budget;
  if (budget.is_dense()) return dense_bytes(size);
  if (budget.kind == Budget::Kind::kKeep) return setting.codec->bytes_max(budget.elements(), size);
  const std::size_t all = setting.codec->bytes_max(size, size);
  return budget.kind == Budget::Kind::kOwn ? all : std::min<std::uint64_t>(budget.amount, all);
}

bool is_conservative(const Setting& setting) {
  if (setting.budget.is_dense()) return true;
  const CodecTraits traits = setting.codec->traits();
  return traits.conservative && (!traits.rounds || setting.rounding == Rounding::kTowardsZero);
}

std::string complaint_about(const Setting& setting, std::span<const std::uint32_t> piece_sizes) {
  if (setting.budget.is_dense()) return {};
  std::size_t size = 0;
  for (const std::uint32_t piece : piece_sizes) size += piece;
  if (std::string wrong = complaint_about_budget(setting, size); !wrong.empty()) return wrong;
  const std::uint32_t keep = setting.budget.elements();
  if (setting.floor > size || (keep > 0 && setting.floor > keep)) return "'floor' is over 'keep'";
  if (setting.allocation == Allocation::kListed)
    return complaint_about_shares(setting, piece_sizes);
  return {};
}

}  // namespace kimesh
