// A node's objective with vectors of its own.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "kimesh/train/trainer.h"
#include "kimesh/util/aligned_buffer.h"

namespace kimesh {

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

inline RunConfig mlp_config(std::vector<std::int64_t> hidden = {32}) {
  RunConfig config;
  config.model.hidden = std::move(hidden);
  return config;
}

inline RunConfig cnn_config() {
  RunConfig config;
  config.model.kind = ModelKind::kCnn;
  config.model.channels = {8, 12};
  config.model.dense = 16;
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
