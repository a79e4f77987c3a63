// kind: parameter_server. Every node talks to each server itself.
#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

bool read_parameter_server(MapReader& top, TopologyFile& topology, Complaints& complaints) {
  read_servers(top, topology, complaints);
  return true;
}

bool server_carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) {
  return serves(topology, from) || serves(topology, to);
}

}  // namespace

constinit const TopologyKindRules kParameterServerRules{
    TopologyKind::kParameterServer,
    "parameter_server",
    {},
    read_parameter_server,
    server_carries,
    "Name a link from a node to a server or from a server to a node"};

}  // namespace kimesh
