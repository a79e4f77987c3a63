#include "kimesh/topology/topology_kind.h"

namespace kimesh {

KindTable<TopologyKind>& topology_kinds() {
  extern const Kind<TopologyKind> kRing, kParameterServer, kTree, kGraph, kTorus;
  static KindTable<TopologyKind> table("topology kind",
                                       {kRing, kParameterServer, kTree, kGraph, kTorus});
  return table;
}

}  // namespace kimesh
