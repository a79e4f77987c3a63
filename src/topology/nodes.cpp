#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kimesh/config/local_steps.h"
#include "kimesh/config/map_reader.h"
#include "kimesh/topology/address.h"
#include "limits.h"
#include "written.h"

namespace kimesh {
namespace {

constexpr const char* kAddressExample = "address: \"tcp://127.0.0.1:7101\"";

std::optional<std::string> node_name(std::string_view key) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (key.empty() || key.size() > limits::kNodeNameMax || !std::ranges::all_of(key, fits))
    return std::nullopt;
  return std::string(key);
}

static_assert(limits::kNodeNameMax == 32);  // the number in the rule's text
constexpr EntryRule kNodeRule{"node",
                              "NODE",
                              "a: {address: \"tcp://127.0.0.1:7101\"}",
                              "1 to 32 of a-z, 0-9, _ and -",
                              node_name,
                              limits::kNodesMin,
                              kNodesMax};

void check_address(Keys& keys, std::string_view key, const std::string& text) {
  keys.check(!keys.is_given(key) || keys.is_wrong(key) || parse_address(text), key,
             fmt::format("{} is no address", quoted(text)),
             fmt::format("Write tcp://HOST:PORT with a port from 1 to 65535, such as {}",
                         kAddressExample));
}

void describe_places(Keys& keys, NodeSpec& node) {
  keys.require("address", kAddressExample);
  keys.text("address", node.address, "where the node listens, tcp://HOST:PORT");
  keys.text("dial", node.dial, "where the others reach it, if that is elsewhere");
  check_address(keys, "address", node.address);
  check_dial_address(keys, "dial", node.dial);
  const auto address = parse_address(node.address);
  keys.check(!address || !address->is_wildcard() || !node.dial.empty(), "address",
             fmt::format("the others cannot tell from {} where node {} is", quoted(node.address),
                         node.name),
             "Add dial: \"tcp://HOST:PORT\" with the host that they reach it under");
}

std::string place_of(const NodeSpec& node) {
  return fmt::format("nodes.{}", node.name);
}

const std::string& dialled(const NodeSpec& node) {
  return node.dial.empty() ? node.address : node.dial;
}

void check_dialled(const TopologyFile& topology, Findings& findings) {
  std::map<std::string, const NodeSpec*> seen;
  for (const NodeSpec& node : topology.nodes) {
    const auto address = parse_address(dialled(node));
    if (!address) continue;
    const auto [it, is_new] = seen.emplace(address->place(), &node);
    if (!is_new)
      findings.add(place_of(node),
                   fmt::format("nodes {} and {} share the address {}", it->second->name, node.name,
                               quoted(dialled(node))),
                   "Give each node a port of its own");
  }
}

// A weight that is there and wrong is not missing: there is a complaint about it already.
bool has_weight(const NodeSpec& node, std::optional<double> NodeSpec::*weight, std::string_view key,
                const Findings& findings) {
  return (node.*weight).has_value() || findings.is_given(fmt::format("{}.{}", place_of(node), key));
}

// Either all nodes have a weight or none: a share of the data, the default, cannot be compared with
// weights.
void check_data_weights(const TopologyFile& topology, Findings& findings) {
  const auto has = [&](const NodeSpec& node) {
    return has_weight(node, &NodeSpec::data_weight, "data_weight", findings);
  };
  const auto with = std::ranges::find_if(topology.nodes, has);
  const auto without = std::ranges::find_if_not(topology.nodes, has);
  if (with == topology.nodes.end() || without == topology.nodes.end()) return;
  findings.add(
      place_of(*without),
      fmt::format("node {} has no data_weight, but node {} has one", without->name, with->name),
      "Give every node a data_weight, or none");
}

bool is_elsewhere(const std::string& text) {
  const auto address = parse_address(text);
  return address && !address->is_loopback();
}

void check_security(const TopologyFile& topology, Findings& findings) {
  if (!findings.is_given("keys") || topology.is_encrypted()) return;
  findings.add("keys", "keys are named, but the links of this topology are not encrypted",
               "Write security: curve, or remove keys");
}

}  // namespace

void check_dial_address(Keys& keys, std::string_view key, const std::string& text) {
  check_address(keys, key, text);
  const auto address = parse_address(text);
  keys.check(!address || !address->is_wildcard(), key,
             fmt::format("nobody can dial {}", quoted(text)),
             "Write the name or address under which the others reach this node");
}

bool TopologyFile::is_reachable() const {
  return std::ranges::any_of(nodes,
                             [](const NodeSpec& node) {
                               return is_elsewhere(node.address) || is_elsewhere(node.dial);
                             }) ||
         std::ranges::any_of(links,
                             [](const NamedLink& link) { return is_elsewhere(link.way.address); });
}

bool TopologyFile::is_encrypted() const {
  return security == Security::kUnspecified ? is_reachable() : security == Security::kCurve;
}

std::optional<double> NodeSpec::sending_cap_bits_per_s() const {
  if (!max_rate_bits_per_s) return uplink_bits_per_s;
  return std::min(*max_rate_bits_per_s, uplink_bits_per_s.value_or(*max_rate_bits_per_s));
}

void NodeSpec::describe(Keys& keys) {
  if (keys.wants_local()) describe_places(keys, *this);
  keys.rate("uplink", uplink_bits_per_s, "what its outgoing links share (emulated)");
  keys.rate("downlink", downlink_bits_per_s, "what its incoming links share (simulated)");
  keys.rate("max_rate", max_rate_bits_per_s,
            "what all its outgoing links together may send at: budgets and sending keep to it");
  keys.bytes("traffic", traffic_bytes,
             "what it may send in the whole run, which ends before it is used up; rounds that are "
             "lost with a process, and made again, count once");
  keys.number("data_weight", data_weight, {0, limits::kDataWeightMax, true},
              "its weight in the loss; where no node has one, its share of the data");
  keys.whole("local_steps", local_steps, kLocalStepCounts,
             "its optimizer steps in a round, where it is faster or slower than others; else those "
             "of the config, or as policy auto finds them");
  keys.number("shard_weight", shard_weight, {0, limits::kShardWeightMax, true},
              "the size of its shard beside the other servers'; where none has one, all equal");
}

void describe_nodes(Keys& keys, std::vector<NodeSpec>& nodes) {
  NodeSpec defaults;
  keys.require("nodes", "nodes: with one line per node");
  keys.entries("nodes", nodes, defaults, kNodeRule, "the machines that train, one line each");
}

void check_nodes(const TopologyFile& topology, Findings& findings) {
  check_dialled(topology, findings);
  check_data_weights(topology, findings);
  check_security(topology, findings);
}

void check_shard_weights(const TopologyFile& topology, Findings& findings) {
  const NodeSpec* with = nullptr;
  const NodeSpec* without = nullptr;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    const NodeSpec& node = topology.nodes[i];
    const bool has = has_weight(node, &NodeSpec::shard_weight, "shard_weight", findings);
    if (serves(topology, static_cast<NodeIndex>(i))) {
      const NodeSpec*& first = has ? with : without;
      if (first == nullptr) first = &node;
    } else if (has) {
      findings.add(place_of(node),
                   fmt::format("node {} has a shard_weight, but servers leaves it out", node.name),
                   "Remove the weight, or add the node to servers");
    }
  }
  if (with == nullptr || without == nullptr) return;
  findings.add(
      place_of(*without),
      fmt::format("node {} has no shard_weight, but node {} has one", without->name, with->name),
      "Give every server a shard_weight, or none");
}

}  // namespace kimesh
