// The checks that need both a config and a topology.
#pragma once

#include <string>
#include <vector>

#include "kimesh/config/problem.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

// Problems of two files that have none by themselves: a codec that the topology forbids, kimad
// without round_time, a split by weights that nodes do not have.
[[nodiscard]] std::vector<Problem> check_together(const RunConfig& config,
                                                  const std::string& config_path,
                                                  const TopologyFile& topology);

}  // namespace kimesh
