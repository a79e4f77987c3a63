// Ways of joining a run's nodes, held against each other by simulations: `kimesh plan --suggest`
// prints them before a run, a report names the best after one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kimesh/run/run_config.h"
#include "kimesh/run/suggest.h"
#include "kimesh/topology/layout.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The messages for which arrangements are compared: those of a policy that keeps the same share at
// every rate, and dense ones for all other policies, whose messages suit their links.
struct ComparedMessages {
  RunConfig config;
  double share = 1;     // size relative to a dense message
  bool are_own = true;  // those of the config as it is
  std::string words = "dense messages";
};
[[nodiscard]] ComparedMessages compared_messages(const RunConfig& config);

// The nodes, what they know of each other, and what they train. Borrows; all outlive it.
struct ComparedMesh {
  const TopologyFile& topology;
  const Layout& layout;
  std::span<const double> weights;  // ω_i, one a node
  const PairRates& rates;
  const SimulatedCosts& costs;
  double scale = 1;  // elements of the layout for each of the model that it stands for
};

// The mean time of a round of a config in seconds, simulated with the nodes joined so. Requires a
// config that goes with them. Errors: UserInput, with the reason why there is no prediction.
[[nodiscard]] Result<double> simulated_round(const ComparedMesh& mesh, const RunConfig& config,
                                             const ArrangedTopology& joined);
// The topology as it is, with the rates of `mesh` as its links.
[[nodiscard]] ArrangedTopology as_it_is(const ComparedMesh& mesh);

struct ComparedJoins {
  Suggestion suggestion;
  ArrangedTopology made;
  double round_s = 0;  // simulated
};
// The best arrangement of each kind (suggest()) with which the config goes, simulated with its
// compared messages; the shortest round comes first. Empty: the known rates join the nodes in no
// such way. Errors: as simulated_round. The search takes as long as suggest(), or less with
// a smaller limit, and each simulation some seconds of its own where the mesh is large.
[[nodiscard]] Result<std::vector<ComparedJoins>> compare_joins(
    const ComparedMesh& mesh, const RunConfig& config, std::size_t laid_out_max = kLaidOutMax);

// How many directed pairs of nodes have no rate that is known.
[[nodiscard]] std::size_t unknown_pairs(const PairRates& rates);
// "ring: a > c > b > d", with the sizes of shards where they differ. `topology`: the one before.
[[nodiscard]] std::string joins_text(const Arrangement& arrangement, const TopologyFile& topology);

}  // namespace kimesh
