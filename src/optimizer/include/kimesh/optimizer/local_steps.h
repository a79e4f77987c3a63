// Local steps: the optimizer steps that a worker takes by itself between two rounds of messages, at
// a point of its own. Its movement is the sum of what they move.
//
// Where nodes take unlike numbers of steps, a plain sum would minimise Σ ω_i H_i f_i in place of
// Σ ω_i f_i. FedNova (Wang, Liu, Liang, Joshi and Poor, 2020, section 4) divides a node's movement
// by ‖a_i‖₁, the weights that it gives to its gradients, and multiplies the mean with one number
// for all:
//
//   x ← x − τ_eff Σ_i ω_i Δ_i / ‖a_i‖₁
//
// The paper's momentum starts from 0 in every round, so that late gradients of a round count less
// and ‖a_i‖₁ = (H_i − ρ (1 − ρ^H_i) / (1 − ρ)) / (1 − ρ). Here the velocity goes on from round to
// round: what a gradient does not move in its own round it moves in later ones. In all, a gradient
// weighs Σ_k ρ^k = 1 / (1 − ρ) whenever it is taken, the same with Nesterov's term, and the H_i of
// a round weigh ‖a_i‖₁ = H_i / (1 − ρ). With τ_eff = Σ_j ω_j H_j / (1 − ρ), what the plain sum
// would come to where all f_i are equal, ρ falls out and a movement is multiplied with
//
//   (Σ_j ω_j H_j) / H_i.
//
// This is exact for sgd. AdamW divides each element by a root that differs from node to node, with
// one local step as with many; a step of it is about lr long, so that the same number is right.
#pragma once

#include <span>

#include "kimesh/util/ids.h"

namespace kimesh {

struct LocalSteps {
  unsigned own = 1;    // H_i, of this node
  double of_mesh = 1;  // Σ_j ω_j H_j

  // What this node's movement is multiplied with before it is sent.
  [[nodiscard]] double scale() const { return of_mesh / own; }
  // The movement is that of one step, sent as it is.
  [[nodiscard]] bool is_one_step() const { return own == 1 && of_mesh == 1; }
};

// Those of `node`. Shapes: steps [nodes], each H_j >= 1; weights [nodes], ω_j, which sum to 1.
[[nodiscard]] LocalSteps local_steps_of(NodeIndex node, std::span<const unsigned> steps,
                                        std::span<const double> weights);

}  // namespace kimesh
