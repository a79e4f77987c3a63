// kind: tree. Said in one of three ways: `parents`, `fan_out`, or `sites` with a head each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

constexpr std::array<std::string_view, 3> kTreeKeys{"parents", "fan_out", "sites"};
constexpr NodeIndex kNobody = 0xFFFF;  // no node has this index: kNodesMax is far below
static_assert(kNodesMax < kNobody);

NodeIndex root_of(const TopologyFile& topology, NodeIndex node) {
  while (topology.parents[node] != node) node = topology.parents[node];
  return node;
}

std::optional<NodeIndex> known_node(const TopologyFile& topology, std::string_view where, int line,
                                    const std::string& name, Complaints& complaints) {
  const auto node = find_node(topology, name);
  if (!node)
    complaints.add(line, fmt::format("{} names {}, which is no node", where, quoted(name)),
                   fmt::format("Write some of: {}", node_names(topology)));
  return node;
}

// Every node's way up ends at a root. Complains about the first that goes round for ever.
bool ends_at_roots(const TopologyFile& topology, int line, Complaints& complaints) {
  for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
    auto node = static_cast<NodeIndex>(n);
    for (std::size_t steps = 0; topology.parents[node] != node; ++steps) {
      node = topology.parents[node];
      if (steps < topology.nodes.size()) continue;
      complaints.add(
          line,
          fmt::format("node {} hangs on itself, by way of its parents", topology.nodes[node].name),
          "Give every node but one a parent, so that all hang on that one in the end");
      return false;
    }
  }
  return true;
}

bool one_root(TopologyFile& topology, int line, Complaints& complaints) {
  std::vector<std::string_view> roots;
  for (std::size_t n = 0; n < topology.parents.size(); ++n) {
    if (topology.parents[n] != kNobody) continue;
    topology.parents[n] = static_cast<NodeIndex>(n);
    if (roots.size() < 8) roots.push_back(topology.nodes[n].name);
  }
  if (roots.size() <= 1) return ends_at_roots(topology, line, complaints);
  complaints.add(line, fmt::format("nodes {} have no parent", joined(roots)),
                 "Give every node but one a parent");
  return false;
}

bool read_parents(const YamlMember& member, TopologyFile& topology, Complaints& complaints) {
  if (member.value.kind != YamlValue::Kind::kMap) {
    complaints.add(member.line, fmt::format("parents is {}, not a map", kind_name(member.value)),
                   "Write NODE: PARENT for every node but one, such as parents: {b: a, c: a}");
    return false;
  }
  topology.parents.assign(topology.nodes.size(), kNobody);
  std::map<NodeIndex, int> lines;
  bool good = true;
  for (const YamlMember& pair : member.value.members) {
    const auto child = known_node(topology, "parents", pair.line, pair.key, complaints);
    const auto parent = known_node(topology, "parents", pair.line, pair.value.text, complaints);
    good = good && child && parent;
    if (!child || !parent) continue;
    const auto [it, is_new] = lines.emplace(*child, pair.line);
    if (!is_new)
      complaints.add(
          pair.line,
          fmt::format("the parent of {} was already given in line {}", pair.key, it->second),
          "Keep one of them");
    good = good && is_new;
    topology.parents[*child] = *parent;
  }
  return good && one_root(topology, member.line, complaints);
}

bool read_fan_out(MapReader& top, TopologyFile& topology) {
  std::optional<std::int64_t> fan_out;
  top.read("fan_out", fan_out, Range{1, static_cast<double>(kNodesMax)});
  if (!fan_out) return false;
  topology.parents.assign(1, 0);
  for (std::size_t n = 1; n < topology.nodes.size(); ++n)
    topology.parents.push_back(
        static_cast<NodeIndex>((n - 1) / static_cast<std::size_t>(*fan_out)));
  return true;
}

class SiteReader {
 public:
  SiteReader(TopologyFile& topology, Complaints& complaints)
      : topology_(topology), complaints_(complaints), site_of_(topology.nodes.size()) {
    topology_.parents.assign(topology_.nodes.size(), kNobody);
  }

  bool read(const YamlMember& site) {
    const std::string where = "sites." + site.key;
    MapReader reader(complaints_, site.value, where, {"head", "nodes"});
    if (site.value.kind != YamlValue::Kind::kMap) return false;
    reader.require("head", "head: with the node that talks to the other sites");
    reader.require("nodes", "nodes: with a list of the site's nodes");
    std::string name;
    reader.read("head", name);
    const YamlMember* members = reader.find("nodes");
    if (name.empty() || members == nullptr) return false;
    const auto head = known_node(topology_, where, reader.line_of("head"), name, complaints_);
    if (!read_members(*members, site.key) || !head) return false;
    if (site_of_[*head] != site.key) {
      reader.complain("head", fmt::format("{} is not among the nodes of {}", name, where),
                      "Name one of them as the head");
      return false;
    }
    for (std::size_t n = 0; n < site_of_.size(); ++n)
      if (site_of_[n] == site.key) topology_.parents[n] = *head;
    return true;
  }

  bool all_belong(int line) {
    const auto without = std::ranges::find(site_of_, std::string());
    if (without == site_of_.end()) return true;
    const auto node = static_cast<std::size_t>(without - site_of_.begin());
    complaints_.add(line, fmt::format("node {} belongs to no site", topology_.nodes[node].name),
                    "Add it to the nodes of one site");
    return false;
  }

 private:
  bool read_members(const YamlMember& list, const std::string& site) {
    const std::string where = "sites." + site;
    if (list.value.kind != YamlValue::Kind::kList) {
      complaints_.add(list.line, fmt::format("{}.nodes is {}", where, kind_name(list.value)),
                      "Write a list of names, such as nodes: [a, b, c]");
      return false;
    }
    bool good = true;
    for (const YamlValue& item : list.value.items) {
      const auto node = known_node(topology_, where, item.line, item.text, complaints_);
      if (node && !site_of_[*node].empty())
        complaints_.add(
            item.line,
            fmt::format("node {} was already given to site {}", item.text, quoted(site_of_[*node])),
            "Keep it in one of them");
      good = good && node && site_of_[*node].empty();
      if (node) site_of_[*node] = site;
    }
    return good;
  }

  TopologyFile& topology_;
  Complaints& complaints_;
  std::vector<std::string> site_of_;  // by node; empty: none so far
};

bool read_sites(const YamlMember& member, TopologyFile& topology, Complaints& complaints) {
  if (member.value.kind != YamlValue::Kind::kMap) {
    complaints.add(member.line, fmt::format("sites is {}, not a map", kind_name(member.value)),
                   "Write one line per site, such as paris: {head: a, nodes: [a, b, c]}");
    return false;
  }
  SiteReader reader(topology, complaints);
  bool good = true;
  for (const YamlMember& site : member.value.members) good = reader.read(site) && good;
  return good && reader.all_belong(member.line);
}

bool read_tree(MapReader& top, TopologyFile& topology, Complaints& complaints) {
  read_servers(top, topology, complaints);
  std::vector<std::string_view> given;
  for (const std::string_view key : kTreeKeys)
    if (top.find(key) != nullptr) given.push_back(key);
  if (given.size() > 1)
    top.complain(given[1], fmt::format("the tree is given twice, by {}", joined(given)),
                 "Keep one of them");
  if (given.empty())
    top.complain("kind", "kind: tree does not say which node hangs on which",
                 "Add one of fan_out: 2, parents: {b: a, c: a} and sites: with a head each");
  if (given.size() != 1) return false;
  const YamlMember& member = *top.find(given[0]);
  if (given[0] == "parents") return read_parents(member, topology, complaints);
  if (given[0] == "sites") return read_sites(member, topology, complaints);
  return read_fan_out(top, topology);
}

// Of two heads' sites one at least has to own a shard: nothing else travels between them.
bool tree_carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) {
  const auto& parents = topology.parents;
  if (parents[from] == to || parents[to] == from) return true;
  if (parents[from] != from || parents[to] != to) return false;
  return std::ranges::any_of(topology.servers, [&](NodeIndex server) {
    const NodeIndex head = root_of(topology, server);
    return head == from || head == to;
  });
}

}  // namespace

constinit const TopologyKindRules kTreeRules{
    TopologyKind::kTree,
    "tree",
    kTreeKeys,
    read_tree,
    tree_carries,
    "Name a link between a node and the one that it hangs on, or between the heads of two sites"};

}  // namespace kimesh
