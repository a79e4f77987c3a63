// A node's objective with vectors of its own.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "kimesh/config/options_of_text.h"
#include "kimesh/objective/plugin_model.h"
#include "kimesh/train/torch_models.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/aligned_buffer.h"

namespace kimesh {

// Every test program that trains knows the models.
inline const bool kHasModels = (add_torch_models(), add_plugin_model(), true);

// What a config's section `model` says: "kind: mlp, hidden: [8]".
inline ModelOptions model_options(const std::string& keys) {
  return options_of_text<ModelOptions>("{" + keys + "}");
}

struct BoundTrainer {
  BoundTrainer(const RunConfig& config, const TrainingData& data, NodeIndex node)
      : objective(std::move(*make_trainer(config, data, node))),
        parameters(objective->layout().size()),
        gradient(objective->layout().size()) {
    objective->initialise(parameters.span());
    objective->bind(parameters.span(), gradient.span());
  }

  double loss(Round round) {
    const auto numbers = objective->gradient(round);
    EXPECT_TRUE(numbers.ok()) << numbers.error().message;
    return numbers.ok() ? numbers->loss : 0;
  }

  std::unique_ptr<Objective> objective;
  AlignedBuffer parameters, gradient;
};

inline TrainingData make_data(const RunConfig& config, std::size_t nodes,
                              std::vector<double> weights = {}) {
  auto data = prepare_training_data(config, nodes, weights);
  EXPECT_TRUE(data.ok());
  return std::move(*data);
}

// `hidden` as a config writes it.
inline RunConfig mlp_config(const std::string& hidden = "[32]") {
  RunConfig config;
  config.model = model_options("kind: mlp, hidden: " + hidden);
  return config;
}

inline RunConfig cnn_config() {
  RunConfig config;
  config.model = model_options("kind: cnn, channels: [8, 12], dense: 16");
  return config;
}

// ‖a − b‖ / ‖b‖.
inline double relative_distance(std::span<const float> a, std::span<const float> b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace kimesh
