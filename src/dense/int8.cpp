// int8: levels of 8 bits, with a scale for each block of 256.
#include "block_codec.h"

namespace kimesh {
namespace {

class Int8 final : public BlockCodec {
 public:
  Int8() : BlockCodec(kernels::BlockFormat::kInt8, Form::kInt8) {}

  void describe(Keys& keys) override { refuse_formats(keys); }
  CodecTraits traits() const override {
    return {.conservative = true, .rounds = true, .on_devices = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{Form::kInt8, "int8",
                                       decode_blocks<kernels::BlockFormat::kInt8>,
                                       "blocks of 256: a scale, then levels of 8 bits: "
                                       "kernels/include/kimesh/kernels/quantise.h"}};
    return kForms;
  }
};

}  // namespace

Kind<Codec> int8_codec() {
  return {"int8", "levels of 8 bits, with a scale for each block of 256",
          make_options<Int8, Codec>};
}

}  // namespace kimesh
