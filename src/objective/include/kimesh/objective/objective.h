// What is minimised: a function of one flat vector, with one part per node. LibTorch models
// (train/) and quadratics (here) are two kinds of it; nothing above can tell them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct GradientNumbers {
  // Mean over the node's batch, before the update. NaN: a program that brings its own loop has not
  // told it.
  double loss = 0;
  std::uint64_t samples = 0;
};

// Sums over this node's part of the common test set. An objective without one leaves `samples` 0.
struct EvaluationNumbers {
  std::uint64_t correct = 0;
  std::uint64_t samples = 0;
  double loss_sum = 0;  // over the samples
};

// Memory of a program's own for the two vectors that an objective is bound to, on the host, aligned
// to 64 bytes. It outlives the node. Empty: the node has memory of its own.
struct ObjectiveMemory {
  std::span<float> parameters, gradient;
};
// Copies w, the node's copy of the parameters, which the bound parameters may be ahead of. Shape:
// [layout().size()]. Errors: Io.
using ParametersReader = std::function<Status(std::span<float> w)>;

// One node's part. Thread: one at a time. Works on flat vectors that the caller owns; they keep
// their addresses while this lives, are 64-byte aligned and have layout().size() elements. Those of
// bind() lie on the GPU where it says that it computes there.
class Objective {
 public:
  virtual ~Objective() = default;

  [[nodiscard]] virtual const Layout& layout() const = 0;

  // Fills `parameters` with the run's first point: a function of seed and layout only, the same on
  // every node.
  virtual void initialise(std::span<float> parameters) = 0;

  // Called once, before gradient() and evaluate(): from now on these two vectors are meant.
  virtual void bind(std::span<float> parameters, std::span<float> gradient) = 0;

  // Whether it computes on the machine's first GPU. bind() gives it addresses there then, which
  // asks for vectors that are there (device: cuda). All work on them ends before gradient() and
  // evaluate() begin, and that of these before they return. It has no memory() of its own.
  [[nodiscard]] virtual bool computes_on_gpu() const { return false; }

  // Overwrites the gradient with that of this node's batch number `batch` at the parameters, which
  // it only reads. Batches count from 0: the batch is the round where the node takes one local step
  // in each, else the number of its steps before. The caller's sentence names node and round.
  // Errors: NotFinite, naming the layer, when loss or gradient holds NaN or infinity.
  [[nodiscard]] virtual Result<GradientNumbers> gradient(std::uint64_t batch) = 0;

  // Scores the parameters, read only, on this node's part of the test set, where there is one.
  // Errors: any; it ends the run as one of gradient() does, by a sentence with node and round.
  [[nodiscard]] virtual Result<EvaluationNumbers> evaluate() { return EvaluationNumbers{}; }

  // ---- for programs whose loop calls kimesh, in place of the other way round. A simulation uses
  // none of these.

  // Called before the gradients of `round`.
  virtual void begin_round(Round /*round*/) {}
  // Asked once, before initialise().
  [[nodiscard]] virtual ObjectiveMemory memory() { return {}; }
  // Called once, after bind(). The reader may be called inside gradient(), while no message of the
  // round before is on its way, and until interrupt().
  virtual void lend(const ParametersReader& /*reader*/) {}
  // Asked while the node waits for others, before the first round: an error ends the run by its
  // sentence. Thread: another one.
  [[nodiscard]] virtual Status ready() { return ok_status(); }
  // Nobody wants the gradient or the evaluation any more that is under way, if one is, nor a later
  // one: it may return at once, with anything. Thread: another one.
  virtual void interrupt() {}

  // What a checkpoint holds of the objective beside its parameters; nothing, where it has no state.
  // Called between two rounds, while no gradient is computed; restore() comes before the first
  // gradient of a run that goes on. Thread: that of vector work. Errors: of restore() Malformed;
  // of save() any: no checkpoint is made, and the next gradient is an error, too.
  [[nodiscard]] virtual bool has_state() const { return false; }
  [[nodiscard]] virtual Result<std::vector<std::byte>> save() { return std::vector<std::byte>(); }
  [[nodiscard]] virtual Status restore(std::span<const std::byte> /*state*/) { return ok_status(); }
};

}  // namespace kimesh
