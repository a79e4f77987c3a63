#include "kimesh/topology/topology_kind.h"

namespace kimesh {

KindTable<TopologyKind>& topology_kinds() {
  extern const Kind<TopologyKind> kRing, kParameterServer, kTree, kGraph;
  static KindTable<TopologyKind> table("topology kind", {kRing, kParameterServer, kTree, kGraph});
  return table;
}

}  // namespace kimesh
