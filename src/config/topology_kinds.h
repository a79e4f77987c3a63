// What tells one kind of topology from another in a file. A further kind is a file of its own and a
// line of the table in topology_kinds.cpp.
#pragma once

#include <span>
#include <string_view>

#include "src/config/topology_reader.h"

namespace kimesh {

struct TopologyKindRules {
  TopologyKind kind;
  std::string_view name;
  std::span<const std::string_view> keys;  // beside those that every kind has
  // Reads the kind's own keys, after the nodes. False: it has complained, and nothing that depends
  // on who is joined with whom can be judged.
  bool (*read)(MapReader& top, TopologyFile& topology, Complaints& complaints);
  // Whether anything may travel from one node to another, directly. Requires: read() gave true.
  bool (*carries)(const TopologyFile& topology, NodeIndex from, NodeIndex to);
  std::string_view remedy_for_unused;  // what to write instead of a link that carries nothing
};

extern const TopologyKindRules kRingRules, kParameterServerRules, kTreeRules, kGraphRules;

[[nodiscard]] std::span<const TopologyKindRules* const> topology_kinds();
[[nodiscard]] const TopologyKindRules& rules_of(TopologyKind kind);

// Reads `servers`, for kinds in which not every node has to serve.
void read_servers(MapReader& top, TopologyFile& topology, Complaints& complaints);
[[nodiscard]] bool serves(const TopologyFile& topology, NodeIndex node);

}  // namespace kimesh
