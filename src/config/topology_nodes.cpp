#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/config/address.h"
#include "src/config/limits.h"
#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

constexpr const char* kAddressExample = "address: \"tcp://127.0.0.1:7101\"";

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > limits::kNodeNameMax) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Reads one of address and dial; complains when it is none.
std::optional<Address> read_address(MapReader& reader, std::string_view key, std::string& target) {
  reader.read(key, target);
  if (target.empty()) return std::nullopt;
  auto address = parse_address(target);
  if (!address)
    reader.complain(key, fmt::format("{} is no address", quoted(target)),
                    fmt::format("Write tcp://HOST:PORT with a port from 1 to 65535, such as {}",
                                kAddressExample));
  return address;
}

void check_dialable(MapReader& reader, const NodeSpec& node, const std::optional<Address>& address,
                    const std::optional<Address>& dial) {
  if (dial && dial->is_wildcard())
    reader.complain("dial", fmt::format("nobody can dial {}", quoted(node.dial)),
                    "Write the name or address under which the others reach this node");
  if (address && address->is_wildcard() && node.dial.empty())
    reader.complain("address",
                    fmt::format("the others cannot tell from {} where node {} is",
                                quoted(node.address), node.name),
                    "Add dial: \"tcp://HOST:PORT\" with the host that they reach it under");
}

NodeSpec read_node(const YamlMember& member, Complaints& complaints) {
  NodeSpec node;
  node.name = member.key;
  node.line = member.line;
  MapReader reader(complaints, member.value, "nodes." + member.key,
                   {"address", "dial", "uplink", "downlink", "max_rate", "traffic", "data_weight",
                    "shard_weight"});
  reader.require("address", kAddressExample);
  const auto address = read_address(reader, "address", node.address);
  const auto dial = read_address(reader, "dial", node.dial);
  check_dialable(reader, node, address, dial);
  reader.read_rate("uplink", node.uplink_bits_per_s);
  reader.read_rate("downlink", node.downlink_bits_per_s);
  reader.read_rate("max_rate", node.max_rate_bits_per_s);
  reader.read_bytes("traffic", node.traffic_bytes);
  reader.read("data_weight", node.data_weight, {0, limits::kDataWeightMax, true});
  // What is there and wrong has had its complaint, and is not missing as well.
  if (reader.find("data_weight") != nullptr && !node.data_weight) node.data_weight = 1;
  reader.read("shard_weight", node.shard_weight, {0, limits::kShardWeightMax, true});
  if (reader.find("shard_weight") != nullptr && !node.shard_weight) node.shard_weight = 1;
  return node;
}

const std::string& dialled(const NodeSpec& node) {
  return node.dial.empty() ? node.address : node.dial;
}

void check_places(const TopologyFile& topology, Complaints& complaints) {
  std::map<std::string, const NodeSpec*> seen;
  for (const NodeSpec& node : topology.nodes) {
    const auto address = parse_address(dialled(node));
    if (!address) continue;
    const auto [it, is_new] = seen.emplace(address->place(), &node);
    if (!is_new)
      complaints.add(node.line,
                     fmt::format("nodes {} and {} share the address {}", it->second->name,
                                 node.name, quoted(dialled(node))),
                     "Give each node a port of its own");
  }
}

// A node without a weight would count by its share of the data, which is no number beside those.
void check_weights(const TopologyFile& topology, Complaints& complaints) {
  const auto has = [](const NodeSpec& node) { return node.data_weight.has_value(); };
  const auto with = std::find_if(topology.nodes.begin(), topology.nodes.end(), has);
  const auto without = std::find_if_not(topology.nodes.begin(), topology.nodes.end(), has);
  if (with == topology.nodes.end() || without == topology.nodes.end()) return;
  complaints.add(
      without->line,
      fmt::format("node {} has no data_weight, but node {} has one", without->name, with->name),
      "Give every node a data_weight, or none");
}

}  // namespace

void read_nodes(const YamlValue& value, TopologyFile& topology, Complaints& complaints) {
  if (value.kind != YamlValue::Kind::kMap)
    return complaints.add(
        value.line, fmt::format("nodes is {}, not a map", kind_name(value)),
        fmt::format("Write one line per node, such as a: {{{}}}", kAddressExample));
  if (value.members.size() < limits::kNodesMin || value.members.size() > kNodesMax)
    return complaints.add(value.line,
                          fmt::format("the number of nodes is {}", value.members.size()),
                          fmt::format("Write from {} to {} nodes", limits::kNodesMin, kNodesMax));
  std::map<std::string_view, int> lines;
  for (const YamlMember& member : value.members) {
    if (!is_name(member.key)) {
      complaints.add(member.line, fmt::format("{} is no name for a node", quoted(member.key)),
                     fmt::format("Write 1 to {} of a-z, 0-9, _ and -", limits::kNodeNameMax));
      continue;
    }
    const auto [it, is_new] = lines.emplace(member.key, member.line);
    if (is_new)
      topology.nodes.push_back(read_node(member, complaints));
    else
      complaints.add(member.line,
                     fmt::format("node {} was already given in line {}", member.key, it->second),
                     "Give each node a name of its own");
  }
  check_places(topology, complaints);
  check_weights(topology, complaints);
}

void check_shard_weights(const TopologyFile& topology, Complaints& complaints) {
  const NodeSpec* with = nullptr;
  const NodeSpec* without = nullptr;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    const NodeSpec& node = topology.nodes[i];
    if (serves(topology, static_cast<NodeIndex>(i))) {
      const NodeSpec*& first = node.shard_weight ? with : without;
      if (first == nullptr) first = &node;
    } else if (node.shard_weight) {
      complaints.add(
          node.line,
          fmt::format("node {} has a shard_weight, but servers leaves it out", node.name),
          "Remove the weight, or add the node to servers");
    }
  }
  if (with == nullptr || without == nullptr) return;
  complaints.add(
      without->line,
      fmt::format("node {} has no shard_weight, but node {} has one", without->name, with->name),
      "Give every server a shard_weight, or none");
}

void check_security(const TopologyFile& topology, Complaints& complaints) {
  if (topology.security == Security::kNone) return;
  for (const NodeSpec& node : topology.nodes)
    for (const std::string& text : {node.address, node.dial}) {
      const auto address = parse_address(text);
      if (!address || address->is_loopback()) continue;
      // Once is enough: one word mends it for all nodes.
      return complaints.add(
          node.line,
          fmt::format("node {} can be reached from other machines ({}), and this release has no "
                      "keys yet: whoever reaches it can read and change the training",
                      node.name, quoted(text)),
          "Write security: none at the top of the file if that network is trusted, or use "
          "127.0.0.1");
    }
}

std::optional<NodeIndex> find_node(const TopologyFile& topology, std::string_view name) {
  for (std::size_t i = 0; i < topology.nodes.size(); ++i)
    if (topology.nodes[i].name == name) return static_cast<NodeIndex>(i);
  return std::nullopt;
}

std::string node_names(const TopologyFile& topology) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string_view> names;
  for (const NodeSpec& node : topology.nodes)
    if (names.size() < kShown) names.push_back(node.name);
  return joined(names) + (topology.nodes.size() > kShown ? ", ..." : "");
}

}  // namespace kimesh
