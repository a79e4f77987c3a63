// int4: levels of 4 bits, with a scale for each block of 64.
#include "block_codec.h"

namespace kimesh {
namespace {

class Int4 final : public BlockCodec {
 public:
  Int4() : BlockCodec(kernels::BlockFormat::kInt4, Form::kInt4) {}

  void describe(Keys& keys) override { refuse_formats(keys); }
  CodecTraits traits() const override {
    return {.conservative = true, .rounds = true, .on_devices = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{Form::kInt4, "int4",
                                       decode_blocks<kernels::BlockFormat::kInt4>,
                                       "blocks of 64: a scale, then levels of 4 bits: "
                                       "kernels/include/kimesh/kernels/quantise.h"}};
    return kForms;
  }
};

}  // namespace

Kind<Codec> int4_codec() {
  return {"int4", "levels of 4 bits, with a scale for each block of 64", make_options<Int4, Codec>};
}

}  // namespace kimesh
