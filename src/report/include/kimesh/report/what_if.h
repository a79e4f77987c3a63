// What another mesh would have brought: short simulations with the rates and the gradient times
// that a run has measured, of a model scaled down so that each takes a fraction of a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kimesh/report/measures.h"
#include "kimesh/run/predict.h"

namespace kimesh {

// One change to the mesh that was measured.
struct Change {
  std::optional<LinkIndex> faster_link{};  // of twice the rate
  bool all_links_faster = false;           // the same of all links
  std::optional<NodeIndex> faster_node{};  // its gradients take as long as the others' median
  double more_steps = 1;                   // times the local steps between two rounds of messages
};

// Of a changed mesh, each over that of the mesh as it was.
struct Outcomes {
  double round = 0;           // time of a round
  std::vector<double> bytes;  // of a round, by LinkIndex
};

// The best other way of joining the nodes that `kimesh plan --suggest` finds with the same rates.
struct OtherJoins {
  std::string text;               // "ring: a > c > b > d"
  double round = 1;               // time of a round over that of the mesh as it was
  bool emulated = false;          // the rates are those that the topology gives its links
  std::size_t unknown_pairs = 0;  // directed pairs of nodes whose rate nobody knows
};

class WhatIf {
 public:
  // Both outlive this. Simulates the mesh as it was, to know how far simulations are to be
  // believed.
  WhatIf(const RunHistory& history, const RunMeasures& measures);

  // Why nothing can be said: sizes or rates are unknown, or the simulation of the mesh as it was is
  // off by more than kBelievedMax. Empty: simulations are believed.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // The simulated round over the measured one; 0: nothing was simulated.
  [[nodiscard]] double fidelity() const { return fidelity_; }
  // The changed round and messages over those of the mesh as it was: 0.5 is half as long.
  // Requires trouble() to be empty. Nothing: the changed mesh could not be simulated.
  [[nodiscard]] std::optional<Outcomes> relative(const Change& change) const;

  // What other joins of the nodes would bring to the run's own config. The rates are those that the
  // topology emulates or, where it emulates none, those that the run measured. Requires trouble()
  // to be empty. Nothing: the joins stay as they are, no others are known, or the simulation of
  // the mesh as it was with these rates is not believed.
  [[nodiscard]] std::optional<OtherJoins> other_joins() const;

  // A simulated round that is so many times longer or shorter than the measured one is not
  // believed.
  static constexpr double kBelievedMax = 1.6;

 private:
  [[nodiscard]] std::optional<Prediction> simulate(const Change& change) const;
  [[nodiscard]] bool is_believed(double round_s) const;

  const RunHistory& history_;
  const RunMeasures& measures_;
  double scale_ = 1;  // elements of the stand-in over those of the model
  Plan plan_;         // of the stand-in
  std::optional<Prediction> base_;
  double fidelity_ = 0;
  std::string trouble_;
};

}  // namespace kimesh
