// What a whole mesh minimises, prepared once per process: f = Σ ω_i f_i over one flat vector, with
// the part f_i of each node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/objective/objective.h"
#include "kimesh/topology/layout.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// L of f, and L̃ = √(Σ ω_i L_i²) of its parts: the quantities of EF21's bound.
struct Smoothness {
  double mean = 0, parts = 0;
};

// Where a run starts: where initialise() of every node's part says, which must be the same bits, or
// where that of the first node says, which, live, sends its point to all before the first round.
enum class FirstPoint { kAlike, kOfFirstNode };

// Equal in every process of a mesh. Thread: one at a time; parts that exist already may be used
// meanwhile.
class MeshObjective {
 public:
  virtual ~MeshObjective() = default;

  // The layout of the flat vector that the nodes train.
  [[nodiscard]] virtual const Layout& layout() const = 0;
  // ω_i, one a node; they sum to 1.
  [[nodiscard]] virtual const std::vector<double>& weights() const = 0;
  // The part of `node`, which this outlives. Errors: UserInput, Io.
  [[nodiscard]] virtual Result<std::unique_ptr<Objective>> part(NodeIndex node) const = 0;

  [[nodiscard]] virtual FirstPoint first_point() const { return FirstPoint::kAlike; }
  // Tensors of the model file that are not trained.
  [[nodiscard]] virtual const NamedValues& frozen() const;
  // Whether evaluate() of the parts scores anything.
  [[nodiscard]] virtual bool has_test_set() const { return false; }
  // Whether a perplexity means something: what is scored are tokens.
  [[nodiscard]] virtual bool scores_tokens() const { return false; }
  // All that nodes must agree on before they start and that the config does not say.
  [[nodiscard]] virtual std::string canonical() const { return {}; }
  // What equal bits depend on beside this library, for the run's record.
  [[nodiscard]] virtual std::string environment() const { return "no LibTorch"; }
  // What `lr: theory` asks for, where it is known.
  [[nodiscard]] virtual std::optional<Smoothness> smoothness() const { return std::nullopt; }
  // ‖∇f(x)‖², where it can be told.
  [[nodiscard]] virtual std::optional<double> gradient_norm_squared(
      std::span<const float> parameters) const;
};

// The plainest kind: equal tensors on all nodes, and a function that makes the part of a node.
[[nodiscard]] std::unique_ptr<MeshObjective> make_mesh_objective(
    Layout layout, std::vector<double> weights,
    std::function<std::unique_ptr<Objective>(NodeIndex)> make_part);

// `declared` holds every node's weight up to a common factor; empty: all equal. They sum to 1.
[[nodiscard]] std::vector<double> shares_of_weights(std::span<const double> declared,
                                                    std::size_t nodes);

}  // namespace kimesh
