#include "src/records/setting_json.h"

#include <fmt/format.h>

#include <cmath>

namespace kimesh {
namespace {

template <typename T>
using Names = std::vector<std::pair<T, std::string>>;

// The first of each is the default.
const Names<ValueFormat> kValues{{ValueFormat::kFloat32, "float32"},
                                 {ValueFormat::kFloat16, "float16"},
                                 {ValueFormat::kBfloat16, "bfloat16"},
                                 {ValueFormat::kInt4, "int4"}};
const Names<IndexFormat> kIndices{
    {IndexFormat::kRaw, "raw"}, {IndexFormat::kPacked, "packed"}, {IndexFormat::kCoded, "coded"}};
const Names<Rounding> kRoundings{{Rounding::kTowardsZero, "towards_zero"},
                                 {Rounding::kNearest, "nearest"}};
const Names<Coder> kCoders{{Coder::kEntropy, "entropy"}, {Coder::kFixedWidth, "fixed_width"}};

template <typename T>
void put(Json& json, const char* field, const Names<T>& names, T value) {
  if (value == names.front().first) return;
  for (const auto& [known, name] : names)
    if (known == value) json[field] = name;
}

template <typename T>
void take(FieldReader& fields, const char* field, const Names<T>& names, T& value) {
  if (!fields.has(field)) return;
  std::string text;
  fields.read(field, text);
  for (const auto& [known, name] : names)
    if (name == text) return void(value = known);
  fields.complain(fmt::format("'{}' is no '{}'", text, field));
}

template <typename T>
void take(FieldReader& fields, const char* field, T& value) {
  if (fields.has(field)) fields.read(field, value);
}

void take_positive(FieldReader& fields, const char* field, float& value) {
  if (!fields.has(field)) return;
  double number = 0;
  fields.read(field, number);
  value = static_cast<float>(number);
  if (!std::isfinite(value) || value <= 0)
    fields.complain(fmt::format("'{}' is not above 0", field));
}

void check_shares(FieldReader& fields, std::span<const LayerSlice> layers, const Setting& setting) {
  if (setting.shares.size() != layers.size())
    return fields.complain(
        fmt::format("'shares' has {} numbers for {} layers", setting.shares.size(), layers.size()));
  std::uint64_t sum = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    sum += setting.shares[l];
    if (setting.shares[l] > layers[l].size)
      return fields.complain(
          fmt::format("'shares' keeps {} of {} elements", setting.shares[l], layers[l].size));
  }
  if (sum != setting.keep) fields.complain("'shares' do not sum to 'keep'");
}

// Whether the compressor sends as many elements as `keep` says.
bool keeps(const Setting& setting) {
  switch (setting.compressor) {
    case Compressor::kTopk:
    case Compressor::kRandk:
    case Compressor::kDgc:
    case Compressor::kRedsync:
      return setting.budget_bytes == 0;
    default:
      return false;
  }
}

void check(FieldReader& fields, const Setting& setting, std::size_t elements,
           std::span<const LayerSlice> layers) {
  if (setting.keep > elements || (keeps(setting) && setting.keep < 1))
    fields.complain(fmt::format("'keep' is {} of {} elements", setting.keep, elements));
  if (setting.floor > elements || (keeps(setting) && setting.floor > setting.keep))
    fields.complain("'floor' is over 'keep'");
  if (setting.allocation == Allocation::kListed) check_shares(fields, layers, setting);
  if (setting.budget_bytes > 0 && setting.budget_bytes < smallest_message_bytes(setting, elements))
    fields.complain("'budget_bytes' holds no message");
  if (setting.compressor == Compressor::kDzq && setting.budget_bytes == 0 && !(setting.step > 0))
    fields.complain("dzq has neither 'budget_bytes' nor 'step'");
  if (setting.compressor == Compressor::kThreshold && !(setting.threshold > 0))
    fields.complain("threshold has no 'threshold'");
}

}  // namespace

void put_setting(Json& json, const Setting& setting) {
  json["compressor"] = name_of(setting.compressor);
  if (setting.keep > 0) json["keep"] = setting.keep;
  if (setting.rotation > 0) json["rotation"] = setting.rotation;
  const bool global = setting.allocation == Allocation::kGlobal;
  if (global) json["allocation"] = "global";
  if (global || setting.floor > 0) json["floor"] = setting.floor;
  if (setting.allocation == Allocation::kListed) json["shares"] = setting.shares;
  if (setting.budget_bytes > 0) json["budget_bytes"] = setting.budget_bytes;
  if (setting.threshold > 0) json["threshold"] = setting.threshold;
  if (setting.step > 0) json["step"] = setting.step;
  put(json, "values", kValues, setting.values);
  put(json, "indices", kIndices, setting.indices);
  put(json, "rounding", kRoundings, setting.rounding);
  put(json, "coder", kCoders, setting.coder);
  if (setting.scaled) json["scaled"] = true;
}

Setting read_setting(FieldReader& fields, std::size_t elements,
                     std::span<const LayerSlice> layers) {
  Setting setting;
  std::string compressor;
  fields.read("compressor", compressor);
  const auto known = compressor_named(compressor);
  if (!known) fields.complain("'" + compressor + "' is no compressor");
  setting.compressor = known.value_or(Compressor::kIdentity);
  take(fields, "keep", setting.keep);
  take(fields, "rotation", setting.rotation);
  take(fields, "allocation", {{Allocation::kGlobal, "global"}}, setting.allocation);
  take(fields, "floor", setting.floor);
  if (fields.has("shares")) {
    setting.allocation = Allocation::kListed;
    fields.read("shares", setting.shares);
  }
  take(fields, "budget_bytes", setting.budget_bytes);
  take_positive(fields, "threshold", setting.threshold);
  take_positive(fields, "step", setting.step);
  take(fields, "values", kValues, setting.values);
  take(fields, "indices", kIndices, setting.indices);
  take(fields, "rounding", kRoundings, setting.rounding);
  take(fields, "coder", kCoders, setting.coder);
  take(fields, "scaled", setting.scaled);
  if (fields.ok()) check(fields, setting, elements, layers);
  return setting;
}

}  // namespace kimesh
