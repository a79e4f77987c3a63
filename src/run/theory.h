// Whether `lr: theory` may stand in a config, and with a topology.
#pragma once

#include "kimesh/config/findings.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

void check_theory(const RunConfig& config, Findings& findings);
void check_theory(const RunConfig& config, const TopologyFile& topology, Findings& findings);

}  // namespace kimesh
