// The keys of a setting in the decision log.
#include <limits>
#include <optional>

#include "kimesh/compress/codecs.h"

namespace kimesh {
namespace {

constexpr double kCountMax = std::numeric_limits<std::uint32_t>::max();
constexpr double kPayloadBytesMax = 1e15;
constexpr std::size_t kPiecesMax = 100'000;  // layers of a model

// Declares a budget of elements or bytes as two keys, of which one is set.
void describe(Budget& budget, Keys& keys) {
  std::optional<std::uint32_t> keep;
  std::optional<std::uint64_t> bytes;
  if (budget.kind == Budget::Kind::kKeep) keep = budget.elements();
  if (budget.kind == Budget::Kind::kBytes) bytes = budget.amount;
  keys.whole("keep", keep, {0, kCountMax}, "elements that the message carries");
  keys.whole("budget_bytes", bytes, {1, kPayloadBytesMax}, "bytes that it takes at most");
  budget = keep ? Budget::keep(*keep) : bytes ? Budget::bytes(*bytes) : Budget::own();
}

void describe_shares(Setting& setting, Keys& keys) {
  std::vector<std::int64_t> shares(setting.shares.begin(), setting.shares.end());
  keys.wholes("shares", shares, {0, kCountMax}, kPiecesMax, "elements of each layer");
  setting.shares.assign(shares.begin(), shares.end());
}

}  // namespace

void describe(Setting& setting, Keys& keys) {
  // The cast is safe: a visitor that fills fields replaces the codec by a fresh one first.
  auto codec = setting.codec == nullptr ? codecs().make("identity")
                                        : std::const_pointer_cast<Codec>(setting.codec);
  keys.require("compressor", "compressor: topk");
  keys.kind("compressor", codec, codecs(), "what makes the message");
  describe(setting.budget, keys);
  keys.whole("rotation", setting.rotation, {0, kCountMax}, "a counter that differs by message");
  keys.choice("rounding", setting.rounding,
              {{"towards_zero", Rounding::kTowardsZero}, {"nearest", Rounding::kNearest}},
              "of values between two that can be written");
  keys.choice("allocation", setting.allocation,
              {{"proportional", Allocation::kProportional},
               {"global", Allocation::kGlobal},
               {"listed", Allocation::kListed}},
              "how layers share the elements");
  keys.whole("floor", setting.floor, {0, kCountMax}, "elements that are shared by size first");
  describe_shares(setting, keys);
  setting.codec = std::move(codec);
  if (!setting.shares.empty()) setting.allocation = Allocation::kListed;
  if (!setting.codec->is_dense()) return;
  setting.codec = nullptr;
  setting.budget = {};
}

}  // namespace kimesh
