// sign2: two bits an element: its sign, and which of its block's two mean magnitudes it has.
#include "block_codec.h"

namespace kimesh {
namespace {

constexpr Form kSign2{12};

class Sign2 final : public BlockCodec {
 public:
  Sign2() : BlockCodec(kernels::BlockFormat::kSign2, kSign2) {}

  void describe(Keys& keys) override { refuse_formats(keys); }
  CodecTraits traits() const override {
    return {.conservative = false, .rounds = false, .on_devices = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{kSign2, "sign2", decode_blocks<kernels::BlockFormat::kSign2>,
                                       "blocks of 256: two scales, then two bits an element: "
                                       "kernels/include/kimesh/kernels/quantise.h"}};
    return kForms;
  }
};

}  // namespace

Kind<Codec> sign2_codec() {
  return {"sign2", "two bits an element, and two mean magnitudes of each block",
          make_options<Sign2, Codec>};
}

}  // namespace kimesh
