// Base of codecs that send every element, in the block formats of kernels/quantise.h. All messages
// of a vector have one size.
#pragma once

#include "kimesh/codec/difference.h"
#include "kimesh/kernels/quantise.h"

namespace kimesh {

class BlockCodec : public Codec {
 public:
  BlockCodec(kernels::BlockFormat blocks, Form form) : blocks_(blocks), form_(form) {}

  std::size_t bytes_max(std::size_t, std::size_t size) const override {
    return kernels::quantised_bytes(blocks_, size);
  }
  // All messages have one size: smaller ones leave out everything.
  std::vector<double> missing_within(const Curve& curve, std::span<const double> payload_bytes,
                                     Rounding rounding) const override;
  Result<Advanced> advance(const AdvanceJob& job) const override;

 protected:
  static void refuse_indices(Keys& keys);
  // Refuses `values` and `indices`, for codecs with one format.
  void refuse_formats(Keys& keys) const;

 private:
  kernels::BlockFormat blocks_;
  Form form_;
};

[[nodiscard]] Result<Content> decode_as(kernels::BlockFormat blocks,
                                        std::span<const std::byte> payload, std::size_t size);
template <kernels::BlockFormat blocks>
Result<Content> decode_blocks(std::span<const std::byte> payload, std::size_t size) {
  return decode_as(blocks, payload, size);
}

}  // namespace kimesh
