// identity: all elements, in float32 or bfloat16.
#include "block_codec.h"

namespace kimesh {
namespace {

class Identity final : public BlockCodec {
 public:
  Identity() : BlockCodec(kernels::BlockFormat::kBfloat16, Form::kBfloat16) {}

  void describe(Keys& keys) override {
    keys.choice("values", in_bfloat16_, {{"float32", false}, {"bfloat16", true}},
                "how values are written");
    refuse_indices(keys);
  }
  CodecTraits traits() const override {
    return {.conservative = true, .rounds = in_bfloat16_, .on_devices = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{Form::kBfloat16, "bfloat16",
                                       decode_blocks<kernels::BlockFormat::kBfloat16>,
                                       "the upper halves of float32: "
                                       "kernels/include/kimesh/kernels/quantise.h"}};
    return kForms;
  }
  bool is_dense() const override { return !in_bfloat16_; }
  std::size_t bytes_max(std::size_t kept, std::size_t size) const override {
    return in_bfloat16_ ? BlockCodec::bytes_max(kept, size) : dense_bytes(size);
  }

 private:
  bool in_bfloat16_ = false;
};

}  // namespace

Kind<Codec> identity_codec() {
  return {"identity", "all elements, in float32 or bfloat16", make_options<Identity, Codec>};
}

}  // namespace kimesh
