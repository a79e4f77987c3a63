// Models for programs without LibTorch: their names and traits, no keys of their own, no network.
#pragma once

#include "kimesh/objective/model_kind.h"
#include "kimesh/util/check.h"

namespace kimesh {

class StandInModel : public ModelKind {
 public:
  std::shared_ptr<NeuralNetwork> make_network(const SampleShape&) const override {
    KIMESH_CHECK(false, "a model that is not computed");
    return nullptr;
  }
};

class StandInOfText final : public StandInModel {
 public:
  bool reads_tokens() const override { return true; }
};

class StandInOfLargeImages final : public StandInModel {
 public:
  std::int64_t smallest_side() const override { return 16; }
};

// Before the first file is read.
inline bool add_stand_in_models() {
  model_kinds().add({"mlp", "for images and rows", make_options<StandInModel, ModelKind>});
  model_kinds().add({"vgg", "for large images", make_options<StandInOfLargeImages, ModelKind>});
  model_kinds().add({"lstm", "for text", make_options<StandInOfText, ModelKind>});
  return true;
}
inline const bool kHasStandInModels = add_stand_in_models();

}  // namespace kimesh
