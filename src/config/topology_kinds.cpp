#include "src/config/topology_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::array kKinds{&kRingRules, &kParameterServerRules, &kTreeRules, &kGraphRules};

}  // namespace

std::span<const TopologyKindRules* const> topology_kinds() {
  return kKinds;
}

const TopologyKindRules& rules_of(TopologyKind kind) {
  const auto found = std::ranges::find(kKinds, kind, &TopologyKindRules::kind);
  KIMESH_CHECK(found != kKinds.end(), "every kind has its rules");
  return **found;
}

std::string_view name_of(TopologyKind kind) {
  return rules_of(kind).name;
}

bool serves(const TopologyFile& topology, NodeIndex node) {
  return std::ranges::binary_search(topology.servers, node);
}

void read_servers(MapReader& top, TopologyFile& topology, Complaints& complaints) {
  const YamlMember* member = top.find("servers");
  if (member == nullptr || member->value.text == "all") return;
  const std::string remedy = fmt::format("Write servers: all, or a list of names such as [{}]",
                                         topology.nodes.front().name);
  if (member->value.kind != YamlValue::Kind::kList || member->value.items.empty())
    return top.complain("servers", fmt::format("servers is {}", kind_name(member->value)), remedy);
  topology.servers.clear();
  for (const YamlValue& item : member->value.items) {
    const auto node = find_node(topology, item.text);
    auto& servers = topology.servers;
    if (!node)
      complaints.add(item.line, fmt::format("servers names {}, which is no node", kind_name(item)),
                     fmt::format("Write some of: {}", node_names(topology)));
    else if (std::ranges::find(servers, *node) != servers.end())
      complaints.add(item.line, fmt::format("servers names {} twice", item.text),
                     "Keep one of them");
    else
      servers.push_back(*node);
  }
  std::ranges::sort(topology.servers);
}

}  // namespace kimesh
