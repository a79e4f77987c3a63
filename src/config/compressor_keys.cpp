#include "src/config/compressor_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "src/config/limits.h"

namespace kimesh {
namespace {

using Kind = CompressorKind;

const std::vector<std::pair<std::string_view, Kind>> kKinds{
    {"identity", Kind::kIdentity}, {"topk", Kind::kTopk}, {"threshold", Kind::kThreshold},
    {"randk", Kind::kRandk},       {"dgc", Kind::kDgc},   {"redsync", Kind::kRedsync},
    {"sign", Kind::kSign},         {"int8", Kind::kInt8}, {"int4", Kind::kInt4},
    {"dzq", Kind::kDzq},
};
const std::vector<std::pair<std::string_view, ValuesKind>> kValues{
    {"float32", ValuesKind::kFloat32},
    {"float16", ValuesKind::kFloat16},
    {"bfloat16", ValuesKind::kBfloat16},
    {"int4", ValuesKind::kInt4}};
const std::vector<std::pair<std::string_view, IndicesKind>> kIndices{
    {"raw", IndicesKind::kRaw}, {"packed", IndicesKind::kPacked}, {"coded", IndicesKind::kCoded}};

template <typename T>
std::string_view name_in(const std::vector<std::pair<std::string_view, T>>& names, T value) {
  return std::ranges::find(names, value, &std::pair<std::string_view, T>::second)->first;
}

constexpr std::array kSizes = {"ratio", "bits", "threshold", "step"};

// Which of kSizes may say how much a compressor sends under policy: fixed; empty where a message
// has but one size.
std::vector<std::string_view> sizes_of(Kind kind) {
  switch (kind) {
    case Kind::kTopk:
    case Kind::kRandk:
    case Kind::kDgc:
    case Kind::kRedsync:
      return {"ratio", "bits"};
    case Kind::kThreshold:
      return {"threshold"};
    case Kind::kDzq:
      return {"bits", "step"};
    case Kind::kIdentity:
    case Kind::kSign:
    case Kind::kInt8:
    case Kind::kInt4:
      break;
  }
  return {};
}

bool selects(Kind kind) {
  return kind == Kind::kTopk || kind == Kind::kThreshold || kind == Kind::kDgc ||
         kind == Kind::kRedsync;
}

void refuse_formats(MapReader& reader, const CompressorConfig& compressor, FeedbackKind feedback) {
  const std::string reason = fmt::format("compressor: {}, which has a format of its own",
                                         name_in(kKinds, compressor.kind));
  const Kind kind = compressor.kind;
  if (!selects(kind)) reader.refuse({"indices"}, reason);
  if (!selects(kind) && kind != Kind::kRandk && kind != Kind::kIdentity)
    reader.refuse({"values"}, reason);
  if (kind != Kind::kRandk) reader.refuse({"scaled"}, "a compressor other than randk");
  if (compressor.scaled && feedback != FeedbackKind::kNone)
    reader.complain("scaled", "values that are scaled up are no part of what is fed back",
                    "Write feedback: none, or leave scaled out");
  if (kind == Kind::kIdentity && compressor.values != ValuesKind::kFloat32 &&
      compressor.values != ValuesKind::kBfloat16)
    reader.complain("values", "compressor: identity writes float32 or bfloat16",
                    "Write values: bfloat16, or compressor: int4");
}

void complain_of_identity(MapReader& reader) {
  reader.complain("compressor",
                  "compressor: identity sends everything, whatever the policy decides",
                  "Write compressor: topk, or policy: none");
}

void check_fixed_sizes(MapReader& reader, const CompressorConfig& compressor) {
  const std::string_view name = name_in(kKinds, compressor.kind);
  const std::vector<std::string_view> allowed = sizes_of(compressor.kind);
  std::vector<std::string_view> found;
  for (const std::string_view size : kSizes) {
    if (reader.find(size) == nullptr) continue;
    if (std::ranges::find(allowed, size) != allowed.end())
      found.push_back(size);
    else
      reader.refuse({size}, fmt::format("compressor: {}", name));
  }
  if (found.size() > 1)
    reader.complain(found[1],
                    fmt::format("{} and {} both say how much is sent", found[0], found[1]),
                    "Leave one of them out");
  if (!found.empty() || allowed.empty()) return;
  if (allowed.front() == "ratio")
    return reader.require("ratio", "ratio: with the share that is kept, such as ratio: 0.01");
  if (allowed.front() == "bits")
    return reader.require("bits", "bits: per element on the average, such as bits: 0.1");
  reader.require("threshold",
                 "threshold: with the smallest difference that is sent, such as "
                 "threshold: 0.001");
}

void check_budget_policy(MapReader& reader, CompressionConfig& compression) {
  for (const std::string_view size : kSizes) reader.refuse({size}, "a policy other than fixed");
  const Kind kind = compression.compressor.kind;
  const std::string_view name = name_in(kKinds, kind);
  if (kind == Kind::kThreshold)
    return reader.complain("compressor",
                           "compressor: threshold sends what reaches its threshold, whatever the "
                           "policy decides",
                           "Write compressor: topk, or policy: fixed with a threshold:");
  if (kind == Kind::kIdentity) return complain_of_identity(reader);
  if (sizes_of(kind).empty())
    return reader.complain(
        "compressor",
        fmt::format("compressor: {} makes messages of one size, whatever the policy decides", name),
        "Write compressor: dzq, or policy: fixed");
  if (compression.policy == PolicyKind::kGravac && kind != Kind::kTopk)
    return reader.complain("compressor", "policy: gravac searches how many elements topk keeps",
                           "Write compressor: topk, or policy: kimad");
  if (compression.policy != PolicyKind::kKimadPlus) return;
  if (kind != Kind::kTopk && kind != Kind::kDzq)
    return reader.complain("compressor",
                           fmt::format("policy: kimad_plus shares a message among its layers, and "
                                       "compressor: {} does not let it",
                                       name),
                           "Write compressor: dzq or topk, or policy: kimad");
  const bool plain = kind == Kind::kTopk && compression.compressor.values == ValuesKind::kFloat32 &&
                     compression.compressor.indices == IndicesKind::kRaw;
  if (compression.allocator == AllocatorKind::kKnapsack && !plain)
    reader.complain("allocator",
                    "the knapsack counts elements of 8 bytes: topk with float32 values and raw "
                    "indices",
                    "Write allocator: threshold");
}

}  // namespace

void read_compressor(MapReader& reader, CompressorConfig& compressor) {
  compressor.line = reader.line_of("compressor");
  reader.choose("compressor", compressor.kind, kKinds);
  reader.choose("values", compressor.values, kValues);
  reader.choose("indices", compressor.indices, kIndices);
  reader.choose("scaled", compressor.scaled, {{"true", true}, {"false", false}});
  reader.read("ratio", compressor.ratio, {0, 1, true});
  reader.read("bits", compressor.bits, {0, limits::kBitsMax, true});
  reader.read("threshold", compressor.threshold, {limits::kStepMin, limits::kStepMax});
  reader.read("step", compressor.step, {limits::kStepMin, limits::kStepMax});
}

void check_compressor(MapReader& reader, CompressionConfig& compression) {
  CompressorConfig& compressor = compression.compressor;
  const bool named = reader.find("compressor") != nullptr;
  if (compression.policy == PolicyKind::kNone) {
    const std::string_view reason = "policy: none, which sends everything";
    if (named && compressor.kind != Kind::kIdentity) reader.refuse({"compressor"}, reason);
    reader.refuse({"values", "indices", "ratio", "bits", "threshold", "step", "scaled"}, reason);
    compressor.kind = Kind::kIdentity;
    return;
  }
  refuse_formats(reader, compressor, compression.feedback);
  if (compression.policy != PolicyKind::kFixed) return check_budget_policy(reader, compression);
  if (compressor.kind == Kind::kIdentity && compressor.values == ValuesKind::kFloat32)
    return complain_of_identity(reader);
  check_fixed_sizes(reader, compressor);
}

std::string canonical_compressor(const CompressorConfig& c) {
  std::string text(name_in(kKinds, c.kind));
  if (selects(c.kind) || c.kind == Kind::kRandk || c.kind == Kind::kIdentity)
    text += fmt::format(" {}", name_in(kValues, c.values));
  if (selects(c.kind)) text += fmt::format(" {}", name_in(kIndices, c.indices));
  if (c.ratio) text += fmt::format(" ratio {}", *c.ratio);
  if (c.bits) text += fmt::format(" bits {}", *c.bits);
  if (c.threshold) text += fmt::format(" threshold {}", *c.threshold);
  if (c.step) text += fmt::format(" step {}", *c.step);
  if (c.scaled) text += " scaled";
  return text;
}

}  // namespace kimesh
