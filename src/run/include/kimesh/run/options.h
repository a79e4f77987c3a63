// Turns the user's two files into the options of a node's core, of its vectors and of a simulation.
// Live runs, simulations and benchmarks all begin here, so that a key of a file means the same to
// each.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/objective/mesh_objective.h"
#include "kimesh/round/core.h"
#include "kimesh/run/run_config.h"
#include "kimesh/sim/simulator.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/result.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// `data_weight` is ω_i of the node, `weights` those of all, in the topology's order.
[[nodiscard]] CoreOptions core_options(const RunConfig& config, const TopologyFile& topology,
                                       NodeIndex node, double data_weight);
[[nodiscard]] VectorsOptions vectors_options(const RunConfig& config, const TopologyFile& topology,
                                             NodeIndex node, std::span<const double> weights);
// H_i of all nodes: what the topology file says of a node, else what the config says.
[[nodiscard]] std::vector<unsigned> local_steps(const RunConfig& config,
                                                const TopologyFile& topology);

// The most elements of a shard of a run's plan, for make_plan. Where every message is dense a shard
// takes 1 MiB, so that it is sent, added and stepped while others are on their way. Nothing where
// messages are compressed: more of them would cost more in heads. `scale` is the number of elements
// of the plan's layout for each element of the model, where the layout stands in for that of a
// model.
[[nodiscard]] std::optional<std::size_t> shard_elements_max(const RunConfig& config,
                                                            double scale = 1);

// What `lr: theory` stands for: the step size of docs/architecture.md, invariant 6, with the share
// of a vector that the config's messages keep at least. Requires a config and a topology without
// problems (load_config, check_together).
[[nodiscard]] double theory_learning_rate(const RunConfig& config, const Smoothness& smoothness,
                                          const Plan& plan);

// One node of a simulation, with the rates that the topology gives it.
[[nodiscard]] SimulatedNode simulated_node(const RunConfig& config, const TopologyFile& topology,
                                           NodeIndex node, std::span<const double> weights,
                                           std::unique_ptr<Objective> objective);
// What the topology says of the plan's links, in their order.
[[nodiscard]] std::vector<LinkSpec> simulated_links(const TopologyFile& topology, const Plan& plan);

// Whether every node may send enough to end in order. Errors: UserInput, which begins with the
// line in the topology file: "12: node b may send ...".
[[nodiscard]] Status check_traffic(const RunConfig& config, const TopologyFile& topology,
                                   const Plan& plan);

}  // namespace kimesh
