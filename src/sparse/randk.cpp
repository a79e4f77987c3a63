// randk: a random mask that both ends draw from the same seed.
#include "randk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
#include "kimesh/util/check.h"
#include "kimesh/util/leb128.h"
#include "kimesh/util/random.h"
#include "packed.h"
#include "sparse_codec.h"
#include "values.h"

namespace kimesh {
namespace {

constexpr std::size_t kHeadBytes = 1 + sizeof(std::uint32_t);
constexpr std::size_t kWordBits = 64;

// Fills scratch.entries with the difference under the mask; scaled by size / kept, the message is
// unbiased.
void take_masked(const AdvanceJob& job, const std::vector<std::uint32_t>& mask, bool is_scaled) {
  kernels::Entries& entries = job.scratch.entries;
  entries.resize(mask.size());
  std::ranges::copy(mask, entries.indices.begin());
  const auto target = job.difference.target_on_host(), estimate = job.difference.estimate_on_host();
  const double scale = static_cast<double>(job.size()) / static_cast<double>(mask.size());
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const float difference = target[mask[i]] - estimate[mask[i]];
    const double scaled = std::clamp(static_cast<double>(difference) * scale, -kLargest, kLargest);
    entries.values[i] = is_scaled ? static_cast<float>(scaled) : difference;
  }
}

std::vector<std::byte> write(const Setting& setting, ValueFormat values,
                             kernels::Entries& entries) {
  std::vector<std::byte> bytes;
  bytes.reserve(seeded_bytes(values, entries.size()));
  bytes.resize(kHeadBytes);
  bytes[0] = static_cast<std::byte>(values);
  std::memcpy(bytes.data() + 1, &setting.rotation, sizeof(setting.rotation));
  put_leb128(entries.size(), bytes);
  write_values(values, setting.rounding, false, entries, bytes);
  return bytes;
}

}  // namespace

std::vector<std::uint32_t> draw_mask(std::uint32_t seed, std::size_t count, std::size_t size) {
  KIMESH_CHECK(count <= size && size <= std::numeric_limits<std::uint32_t>::max(),
               "a part of what 32 bits can name");
  std::vector<std::uint64_t> drawn((size + kWordBits - 1) / kWordBits);
  Random random(seed, 0, 0, Purpose::kMask);
  const bool drawn_stay = count <= size / 2;
  for (std::size_t left = drawn_stay ? count : size - count; left > 0;) {
    const std::uint32_t element = random.below(static_cast<std::uint32_t>(size));
    std::uint64_t& word = drawn[element / kWordBits];
    const std::uint64_t bit = std::uint64_t{1} << element % kWordBits;
    left -= (word & bit) == 0 ? 1 : 0;
    word |= bit;
  }
  std::vector<std::uint32_t> mask;
  mask.reserve(count);
  for (std::size_t w = 0; w < drawn.size(); ++w) {
    const std::size_t bits = std::min(kWordBits, size - w * kWordBits);
    const std::uint64_t all = ~std::uint64_t{0} >> (kWordBits - bits);
    for (std::uint64_t word = drawn_stay ? drawn[w] : ~drawn[w] & all; word != 0; word &= word - 1)
      mask.push_back(static_cast<std::uint32_t>(w * kWordBits +
                                                static_cast<std::size_t>(std::countr_zero(word))));
  }
  return mask;
}

std::size_t seeded_bytes(ValueFormat values, std::size_t count) {
  return count == 0 ? 0 : kHeadBytes + leb128_bytes(count) + value_bytes(values, count);
}

std::uint32_t seeded_that_fits(ValueFormat values, std::size_t budget_bytes, std::size_t size) {
  std::size_t fits = 0, too_many = size + 1;
  while (fits + 1 < too_many) {
    const std::size_t count = fits + (too_many - fits) / 2;
    (seeded_bytes(values, count) <= budget_bytes ? fits : too_many) = count;
  }
  return static_cast<std::uint32_t>(fits);
}

namespace {

Result<Content> decode_seeded(std::span<const std::byte> bytes, std::size_t size) {
  kernels::Entries entries;
  if (bytes.empty() && size == 0) return Content{AddEntries{}};
  if (bytes.size() < kHeadBytes) return malformed("no format and seed");
  const auto format = std::to_integer<unsigned>(bytes.front());
  if (format > 3) return malformed("format " + std::to_string(format) + " is unknown");
  const auto seed = read<std::uint32_t>(bytes.subspan(1), 0);
  std::span<const std::byte> rest = bytes.subspan(kHeadBytes);
  const auto count = read_count(rest, size);
  if (!count) return count.error();
  const auto values = static_cast<ValueFormat>(format);
  if (rest.size() != value_bytes(values, *count))
    return malformed(std::to_string(rest.size()) + " bytes for " + std::to_string(*count) +
                     " values");
  entries.resize(*count);
  if (Status finite = read_values(values, rest, entries.values); !finite) return finite.error();
  std::ranges::copy(draw_mask(seed, *count, size), entries.indices.begin());
  return Content{AddEntries{std::move(entries)}};
}

class Randk final : public Codec {
 public:
  void describe(Keys& keys) override {
    describe_values_key(values_, keys);
    keys.refuse({"indices"}, "compressor: randk, which has a format of its own");
    keys.flag("scaled", scaled_,
              "in reduces values times size / kept: right on average, for feedback: none");
  }
  CodecTraits traits() const override {
    return {.conservative = !scaled_,
            .rounds = values_ != ValueFormat::kFloat32,
            .contractive = !scaled_,
            .keeps_elements = true,
            .meets_budgets = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{Form::kSeeded, "seeded", decode_seeded,
                                       "values under a mask that both ends draw: "
                                       "src/sparse/randk.h"}};
    return kForms;
  }
  std::size_t bytes_max(std::size_t kept, std::size_t) const override {
    return seeded_bytes(values_, kept);
  }
  CodecPtr contractive_codec() const override {
    const auto unscaled = std::make_shared<Randk>(*this);
    unscaled->scaled_ = false;
    return unscaled;
  }
  Result<Advanced> advance(const AdvanceJob& job) const override;

 private:
  ValueFormat values_ = ValueFormat::kFloat32;
  // Makes messages unbiased. It is for reduces of one hop without feedback only: a second message
  // would multiply what the first one left out by 1 − size / kept.
  bool scaled_ = false;
};

Result<Advanced> Randk::advance(const AdvanceJob& job) const {
  const Setting& setting = job.setting;
  Advanced result;
  result.form = Form::kSeeded;
  const std::size_t size = job.size();
  if (size == 0) return result;
  const std::uint32_t keep = setting.budget.kind == Budget::Kind::kBytes
                                 ? seeded_that_fits(values_, setting.budget.amount, size)
                                 : setting.budget.elements();
  KIMESH_CHECK(keep >= 1 && keep <= size, "1 to all elements are kept");
  auto survey = job.difference.survey(job);
  if (!survey) return survey.error();
  result.curve = std::move(survey->curve);
  take_masked(job, draw_mask(setting.rotation, keep, size), scaled_);
  result.bytes = write(setting, values_, job.scratch.entries);
  const bool is_whole = values_ == ValueFormat::kFloat32 && !scaled_;
  if (Status added = add_to_estimate(job, survey->energies, result, is_whole); !added)
    return added.error();
  return result;
}

}  // namespace

Kind<Codec> randk_codec() {
  return {"randk", "elements drawn at random, whose places do not travel",
          make_options<Randk, Codec>};
}

}  // namespace kimesh
