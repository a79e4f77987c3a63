#include "src/policy/style.h"

#include <algorithm>
#include <cmath>

#include "src/policy/whole.h"

namespace kimesh {
namespace {

// Where indices are coded, or quantised values with them (measured at 1 % of residuals).
constexpr double kPackedIndexBytes = 1.25, kCodedIndexBytes = 0.8, kDzqBytes = 1.5;

double value_bytes(ValueFormat format) {
  switch (format) {
    case ValueFormat::kFloat32:
      return 4;
    case ValueFormat::kFloat16:
    case ValueFormat::kBfloat16:
      return 2;
    case ValueFormat::kInt4:
      return 0.6;  // half a byte, and its part of a scale
  }
  return 4;
}

double index_bytes(const Setting& style) {
  if (style.compressor == Compressor::kRandk) return 0;
  switch (style.indices) {
    case IndexFormat::kRaw:
      return 4;
    case IndexFormat::kPacked:
      return kPackedIndexBytes;
    case IndexFormat::kCoded:
      return kCodedIndexBytes;
  }
  return 4;
}

// Whether it says anything how values are rounded.
bool rounds(const Setting& style) {
  return style.values != ValueFormat::kFloat32 || style.compressor == Compressor::kDzq ||
         style.compressor == Compressor::kInt8 || style.compressor == Compressor::kInt4;
}

}  // namespace

bool counts_elements(const Setting& style) {
  return style.values == ValueFormat::kFloat32 && style.indices == IndexFormat::kRaw &&
         style.compressor != Compressor::kDzq && style.compressor != Compressor::kRandk;
}

double bytes_per_kept(const Setting& style) {
  if (style.compressor == Compressor::kDzq) return kDzqBytes;
  return value_bytes(style.values) + index_bytes(style);
}

std::size_t floor_payload(const Setting& style, std::size_t elements) {
  Setting floor = style;
  floor.keep = floor_keep(elements);
  const bool dzq = style.compressor == Compressor::kDzq;
  const std::size_t payload = dzq ? static_cast<std::size_t>(std::ceil(kDzqBytes * floor.keep)) +
                                        smallest_message_bytes(style, elements)
                                  : bytes_of(floor, elements);
  return std::min(payload, dense_bytes(elements));
}

Setting on_route(const Setting& style, const MessageContext& message) {
  constexpr unsigned kHopsOfOneEachWay = 2;
  Setting setting = style;
  setting.rotation = message.round;
  if (rounds(style) && message.path_hops <= kHopsOfOneEachWay)
    setting.rounding = Rounding::kNearest;
  if (style.compressor != Compressor::kDzq) return setting;
  setting.floor = floor_keep(message.elements);
  if (message.link.known() && message.link.bytes_per_s > kCoderBytesPerS)
    setting.coder = Coder::kFixedWidth;
  return setting;
}

Setting as_it_is(const Setting& style, const MessageContext& message) {
  const Setting setting = on_route(style, message);
  // A threshold or a step: what it sends is seen when it is sent.
  if (style.threshold > 0 || style.step > 0) return setting;
  const bool dense = dense_bytes(message.elements) <= bytes_of(setting, message.elements);
  return dense ? Setting{} : setting;
}

Setting keeping(const Setting& style, std::uint32_t keep, const MessageContext& message) {
  Setting sized = style;
  sized.keep = keep;
  return as_it_is(sized, message);
}

Setting filling(const Setting& style, std::size_t payload_bytes, const MessageContext& message) {
  if (counts_elements(style))
    return keeping(
        style,
        std::max(topk_that_fits(payload_bytes, message.elements), floor_keep(message.elements)),
        message);
  if (dense_bytes(message.elements) <= payload_bytes) return Setting{};
  Setting setting = on_route(style, message);
  setting.budget_bytes = payload_bytes;
  // In fixed widths every 255 elements that are passed over take a byte.
  constexpr std::size_t kElementsAByte = 64;
  if (payload_bytes < message.elements / kElementsAByte) setting.coder = Coder::kEntropy;
  return setting;
}

}  // namespace kimesh
