// kind: ring. Each node sends to the next in the file, and the last to the first.
#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

bool read_ring(MapReader& top, TopologyFile&, Complaints&) {
  const YamlMember* servers = top.find("servers");
  if (servers != nullptr && servers->value.text != "all")
    top.refuse({"servers"}, "kind: ring, where every node serves");
  return true;
}

bool ring_carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) {
  return (from + 1u) % topology.nodes.size() == to;
}

}  // namespace

constinit const TopologyKindRules kRingRules{
    TopologyKind::kRing,
    "ring",
    {},
    read_ring,
    ring_carries,
    "A ring sends from each node to the next in the file, and from the last to the first: name one "
    "of these links"};

}  // namespace kimesh
