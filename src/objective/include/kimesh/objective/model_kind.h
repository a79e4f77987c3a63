// What a kind of model is to the rest of kimesh. A kind is one file (name, keys, traits, and the
// network that it makes) and one line in the table of the layer that computes with it: LibTorch's
// are in src/train. Nothing here needs LibTorch.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kimesh/config/kind_table.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct LayoutLayer;
struct PluginOptions;  // plugin_model.h
struct SampleShape;
struct NeuralNetwork;  // src/train/models.h: what only the layer that computes looks into

// How the first values of a layer are drawn.
struct InitialDraw {
  enum class Kind { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double scale = 0;  // kUniform: ±scale; kNormal: standard deviation
  float value = 0;   // kConstant

  [[nodiscard]] static InitialDraw constant(float value) { return {Kind::kConstant, 0, value}; }
  [[nodiscard]] static InitialDraw normal(double deviation) {
    return {Kind::kNormal, deviation, 0};
  }
  // Within ±1/√fan_in, as torch draws.
  [[nodiscard]] static InitialDraw uniform(double fan_in) {
    return {Kind::kUniform, 1 / std::sqrt(fan_in), 0};
  }
};

class ModelKind : public KindOptions {
 public:
  // ---- traits, which a config is checked by
  // Samples are tokens, else images or rows of numbers.
  [[nodiscard]] virtual bool reads_tokens() const { return false; }
  // The least shorter side of its images, in pixels. 1: rows of numbers will do.
  [[nodiscard]] virtual std::int64_t smallest_side() const { return 1; }
  // What to write where images are smaller; without a full stop. `side`: what they have, above 1.
  [[nodiscard]] virtual std::string remedy_for_small_images(std::int64_t /*side*/) const {
    return "Use larger images";
  }

  // The library that brings model, data and gradients: the config has no data then, and there is no
  // network. Null: LibTorch computes.
  [[nodiscard]] virtual const PluginOptions* plugin() const { return nullptr; }

  // Whether a GPU can compute it; else the CPU does, with `device: cuda`, too.
  [[nodiscard]] virtual bool suits_gpus() const { return true; }
  // A file that the network is read from, which the key `file` names; empty: none.
  [[nodiscard]] virtual std::string file() const { return {}; }
  // Whether a fresh network comes with values that a run without `weights` starts from.
  [[nodiscard]] virtual bool has_values() const { return false; }
  // What of samples only the network itself can tell. Errors: UserInput.
  [[nodiscard]] virtual Status suits(const SampleShape& /*shape*/) const { return ok_status(); }

  // ---- the network
  // Fresh, with arbitrary values in its parameters unless it has_values(). Requires samples that
  // suit it.
  [[nodiscard]] virtual std::shared_ptr<NeuralNetwork> make_network(
      const SampleShape& shape) const = 0;
  // How `layer` is drawn; nothing: as torch does. A bias of which nothing is said is drawn as the
  // weight before it, or 0 where that is a constant.
  [[nodiscard]] virtual std::optional<InitialDraw> initial_draw(
      const LayoutLayer& /*layer*/) const {
    return std::nullopt;
  }
};

// The models that a config may name: none, until somebody adds some before the first file is read.
// The layer train does (add_torch_models), add_plugin_model does, and a program may.
[[nodiscard]] KindTable<ModelKind>& model_kinds();

}  // namespace kimesh
