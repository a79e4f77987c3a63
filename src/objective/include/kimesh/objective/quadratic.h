// Convex test problems with a known answer: f_i(x) = 1/2 Σ_j a_ij (x_j − b_ij)².
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kimesh/config/keys.h"
#include "kimesh/objective/mesh_objective.h"
#include "kimesh/objective/objective.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The section `quadratic` of a config: stands for model and data.
struct QuadraticOptions {
  std::string path;  // CSV of node,j,a,b, relative to the process; empty: seeded
  std::uint32_t dimension = 200;
  double condition = 100;    // largest over smallest curvature of the mean
  double heterogeneity = 1;  // standard deviation of b between nodes

  void describe(Keys& keys);
};

// The whole mesh's problem, a_ij > 0. Values are float64; the nodes see them rounded to float32.
struct QuadraticProblem {
  std::size_t dimension = 0;
  std::vector<std::vector<double>> a, b;  // [node][j]
  std::vector<double> weights;            // ω_i, sums to 1

  // L of f = Σ ω_i f_i.
  [[nodiscard]] double smoothness() const;
  // L̃ = √(Σ ω_i L_i²), the quantity of EF21's bound.
  [[nodiscard]] double smoothness_of_parts() const;
  // ‖∇f(x)‖² in float64.
  [[nodiscard]] double gradient_norm_squared(std::span<const float> x) const;
  // The minimiser, in float64.
  [[nodiscard]] std::vector<double> minimiser() const;
};

// Seeded: curvatures of the mean are a geometric row from 1 to 1/condition, scattered over the
// coordinates; each node's are these times exp(0.3 · normal), scaled per coordinate so that the
// mean stays what it was (L is 1); b_ij = heterogeneity · normal + 1. `weights` holds ω_i up to a
// common factor; empty: all equal.
[[nodiscard]] QuadraticProblem make_quadratic(const QuadraticOptions& config, std::size_t nodes,
                                              std::span<const double> weights, std::uint64_t seed);
// From a CSV of node,j,a,b (both counted from 0) with a header line or without; empty lines and
// lines that begin with # are left out. Errors: UserInput, one line per complaint, with file and
// line of the CSV.
[[nodiscard]] Result<QuadraticProblem> load_quadratic(const std::string& path, std::size_t nodes,
                                                      std::span<const double> weights);

// The largest step size for which EF21 in both directions is proven to converge on one-hop routes
// without momentum; the formula is invariant 6 of docs/architecture.md, with a χ of each direction.
// L of the mean, L̃ of the parts; alpha in (0, 1] is the share of a vector's energy that a message
// keeps at least: for topk the share of the elements that it keeps.
[[nodiscard]] double theory_step_size(double smoothness, double smoothness_of_parts,
                                      double alpha_worker, double alpha_server);

// Node `node`'s part; `problem` outlives it. The layout is one unnamed vector. initialise() gives
// zeros. There is no test set. A round is one sample, whatever its number.
[[nodiscard]] std::unique_ptr<Objective> make_quadratic_objective(const QuadraticProblem& problem,
                                                                  NodeIndex node);

// The quadratic of a config for a whole mesh: read from its file, or drawn from the seed.
// `declared_weights` as in shares_of_weights. Errors: as load_quadratic.
[[nodiscard]] Result<std::unique_ptr<MeshObjective>> make_quadratic_mesh(
    const QuadraticOptions& config, std::size_t nodes, std::span<const double> declared_weights,
    std::uint64_t seed);

}  // namespace kimesh
