#include "kimesh/topology/topology_kind.h"

namespace kimesh {

KindTable<TopologyKind>& topology_kinds() {
  extern const Kind<TopologyKind> kRing, kParameterServer, kTree, kGraph, kTorus;
  static KindTable<TopologyKind> table("topology kind",
                                       {kRing, kParameterServer, kTree, kGraph, kTorus});
  return table;
}

std::string one_hop_kinds() {
  std::string text;
  for (const std::string_view name : topology_kinds().names())
    if (topology_kinds().make(name)->is_one_hop())
      text += (text.empty() ? "" : " or ") + std::string(name);
  return text;
}

}  // namespace kimesh
