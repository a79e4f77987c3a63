// What is minimised: a function of one flat vector, with one part per node. LibTorch models
// (train/) and quadratics (here) are two kinds of it; nothing above can tell them apart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kimesh/topology/layout.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct GradientNumbers {
  double loss = 0;  // mean over the node's batch, before the update
  std::uint64_t samples = 0;
};

// Sums over this node's part of the common test set. An objective without one leaves `samples` 0.
struct EvaluationNumbers {
  std::uint64_t correct = 0;
  std::uint64_t samples = 0;
  double loss_sum = 0;  // over the samples
};

// One node's part. Thread: one at a time. Works on flat vectors that the caller owns; they keep
// their addresses while this lives, are 64-byte aligned and have layout().size() elements.
class Objective {
 public:
  virtual ~Objective() = default;

  [[nodiscard]] virtual const Layout& layout() const = 0;

  // Fills `parameters` with the run's first point: a function of seed and layout only, the same on
  // every node.
  virtual void initialise(std::span<float> parameters) = 0;

  // Called once, before gradient() and evaluate(): from now on these two vectors are meant.
  virtual void bind(std::span<float> parameters, std::span<float> gradient) = 0;

  // Overwrites the gradient with that of this node's batch number `batch` at the parameters, which
  // it only reads. Batches count from 0: the batch is the round, and where the node takes H local
  // steps in a round, round · H and those that follow. The caller's sentence names node and round.
  // Errors: NotFinite, naming the layer, when loss or gradient holds NaN or infinity.
  [[nodiscard]] virtual Result<GradientNumbers> gradient(std::uint64_t batch) = 0;

  // Scores the parameters, read only, on this node's part of the test set, where there is one.
  [[nodiscard]] virtual EvaluationNumbers evaluate() { return {}; }
};

}  // namespace kimesh
