// The parts of load_config: each reads one section of the file and complains about it.
#pragma once

#include "kimesh/config/complaints.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

void read_model(const YamlValue& value, ModelConfig& model, Complaints& complaints);
void read_data(const YamlValue& value, DataConfig& data, Complaints& complaints);
void read_quadratic(const YamlValue& value, QuadraticConfig& quadratic, Complaints& complaints);
void read_stop(const YamlValue& value, StopConfig& stop, Complaints& complaints);

// Whether `lr: theory` may stand in this config, and with this topology.
void check_theory(const RunConfig& config, Complaints& complaints);
void check_theory(const RunConfig& config, const TopologyFile& topology, Complaints& complaints);

}  // namespace kimesh
