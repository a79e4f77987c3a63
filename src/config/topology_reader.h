// The parts of load_topology: each reads one section and complains about it.
#pragma once

#include "kimesh/config/complaints.h"
#include "kimesh/config/map_reader.h"
#include "kimesh/config/topology_file.h"

namespace kimesh {

void read_nodes(const YamlValue& value, TopologyFile& topology, Complaints& complaints);
// Shard weights go with servers, which are known by now.
void check_shard_weights(const TopologyFile& topology, Complaints& complaints);
// Who is joined with whom has been read without a complaint.
void read_links(const YamlValue& value, TopologyFile& topology, Complaints& complaints);
void check_security(const TopologyFile& topology, Complaints& complaints);

// Position of `name` in topology.nodes.
[[nodiscard]] std::optional<NodeIndex> find_node(const TopologyFile& topology,
                                                 std::string_view name);
// "a, b, c": the nodes' names, the first few of many.
[[nodiscard]] std::string node_names(const TopologyFile& topology);

}  // namespace kimesh
