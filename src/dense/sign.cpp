// sign: one bit an element and the mean magnitude of each block.
#include "block_codec.h"

namespace kimesh {
namespace {

class Sign final : public BlockCodec {
 public:
  Sign() : BlockCodec(kernels::BlockFormat::kSign, Form::kSign) {}

  void describe(Keys& keys) override { refuse_formats(keys); }
  CodecTraits traits() const override {
    return {.conservative = false, .rounds = false, .on_devices = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{Form::kSign, "sign",
                                       decode_blocks<kernels::BlockFormat::kSign>,
                                       "blocks of 256: a scale, then a bit an element: "
                                       "kernels/include/kimesh/kernels/quantise.h"}};
    return kForms;
  }
};

}  // namespace

Kind<Codec> sign_codec() {
  return {"sign", "one bit an element and the mean magnitude of each block",
          make_options<Sign, Codec>};
}

}  // namespace kimesh
