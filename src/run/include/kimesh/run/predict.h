// Predicts what a run will take, before anyone starts it, by a short simulation of the whole mesh
// with the user's two files. A stand-in takes the place of the model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kimesh/run/run_config.h"
#include "kimesh/sim/simulator.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

struct PredictedLink {
  double bytes_per_round = 0;  // headers included
  double rate_bits_per_s = 0;  // declared, a trace's mean; 0: none, the link is taken as endless
  double busy = 0;             // share of the round in which it sends; 0 where no rate is declared
};

struct Prediction {
  Round rounds = 0;                  // that were simulated; the later half of them was measured
  double round_s = 0;                // mean time of a round, evaluation left out
  std::vector<PredictedLink> links;  // by LinkIndex
  std::string trouble;               // why there is no prediction; empty: there is one
};

// `weights`: ω_i, one a node. Traces count with their mean rates; nobody evaluates, fails or stops.
// Where the mesh would choose how many local steps a round has, one is assumed.
// Every message has the size that the policy gives it; what gradients look like is made up, so
// where a policy goes by them (kimad_plus, gravac), its choices may differ from those of the real
// run. Of a large model fewer rounds than `rounds_max`, 8 at least, are simulated; policies that
// measure links need a hundred to get to their steady state.
[[nodiscard]] Prediction predict(const RunConfig& config, const TopologyFile& topology,
                                 const Plan& plan, std::span<const double> weights,
                                 const SimulatedCosts& costs, Round rounds_max = 200);

// A table for people: the time of a round, of the whole run where it has a number of rounds, and
// for each link its GB (in the run, or in an hour) and busy share. It says what was assumed.
[[nodiscard]] std::string prediction_text(const Prediction& prediction, const RunConfig& config,
                                          const Plan& plan, const SimulatedCosts& costs);

}  // namespace kimesh
