// The parts of load_topology: each reads one section and complains about it.
#pragma once

#include "kimesh/config/topology_file.h"
#include "src/config/complaints.h"
#include "src/config/map_reader.h"

namespace kimesh {

void read_nodes(const YamlValue& value, TopologyFile& topology, Complaints& complaints);
void read_servers(MapReader& top, TopologyFile& topology, Complaints& complaints);
// `nodes` and `servers` have been read without a complaint.
void read_links(const YamlValue& value, TopologyFile& topology, Complaints& complaints);
void check_security(const TopologyFile& topology, Complaints& complaints);

// Position of `name` in topology.nodes.
[[nodiscard]] std::optional<NodeIndex> find_node(const TopologyFile& topology,
                                                 std::string_view name);
// "a, b, c": the nodes' names, the first few of many.
[[nodiscard]] std::string node_names(const TopologyFile& topology);

}  // namespace kimesh
