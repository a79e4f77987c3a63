#include "kimesh/topology/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kimesh/config/key_reader.h"
#include "kimesh/config/key_text.h"
#include "kimesh/util/check.h"
#include "limits.h"
#include "written.h"

namespace kimesh {
namespace {

constexpr ListRule kServersRule{1, kNodesMax, "names", "[a, b]", "all"};

void let_all_serve(TopologyFile& topology) {
  topology.servers.resize(topology.nodes.size());
  std::iota(topology.servers.begin(), topology.servers.end(), NodeIndex{0});
}

// Whether the nodes are right. Links and servers name nodes: without right nodes complaints about
// them would mislead.
bool has_good_nodes(const YamlValue& root, const TopologyFile& topology) {
  const auto nodes = std::ranges::find(root.members, "nodes", &YamlMember::key);
  return nodes != root.members.end() && topology.nodes.size() >= limits::kNodesMin &&
         topology.nodes.size() == nodes->value.members.size();
}

// Resolves and checks what concerns several keys.
void resolve(const Written& written, TopologyFile& topology, Findings& findings) {
  let_all_serve(topology);
  resolve_servers(written, topology, findings);
  const bool resolved = topology.kind->resolve(topology, findings);
  check_shard_weights(topology, findings);
  if (resolved) resolve_links(written, topology, findings);
}

void describe_security(Keys& keys, TopologyFile& topology) {
  std::optional<Security> security;
  if (topology.security != Security::kUnspecified) security = topology.security;
  keys.choice(
      "security", security, {{"curve", Security::kCurve}, {"none", Security::kNone}},
      "curve: links are encrypted, and only nodes with a key connect (kimesh keygen); none: "
      "whoever reaches a node can read and change the training. Default: curve where a "
      "node can be reached from other machines, none on loopback");
  topology.security = security.value_or(Security::kUnspecified);
  keys.path("keys", topology.keys_folder,
            "folder of the keys; by default `keys` beside this file, and --keys overrides both");
}

}  // namespace

void describe(Keys& keys, TopologyFile& topology, Written& written) {
  keys.require("kind", "kind: ring");
  keys.kind("kind", topology.kind, topology_kinds(), "how the nodes are joined");
  describe_nodes(keys, topology.nodes);
  keys.texts("servers", written.servers, kServersRule, "the nodes that own a shard each");
  if (topology.kind != nullptr && topology.kind->all_serve() && !written.servers.empty())
    keys.refuse({"servers"},
                fmt::format("kind: {}, where every node serves", topology.kind->kind_name()));
  describe_links(keys, written);
  if (keys.wants_local()) describe_security(keys, topology);
  keys.duration("dead_after", topology.dead_after,
                {limits::kDeadAfterSecondsMin, limits::kDeadAfterSecondsMax},
                "silence after which a node counts as dead");
  keys.duration("start_timeout", topology.start_timeout,
                {limits::kStartTimeoutSecondsMin, limits::kStartTimeoutSecondsMax},
                "how long a start waits for the other nodes");
  if (keys.wants_local())
    keys.duration("first_gradient", topology.first_gradient,
                  {limits::kFirstGradientSecondsMin, limits::kFirstGradientSecondsMax},
                  "how long a node's first gradient may take; later ones are held against it");
}

void describe_topology(Keys& keys) {
  TopologyFile topology;
  Written defaults;
  describe(keys, topology, defaults);
}

const LinkSpec& TopologyFile::link(NodeIndex from, NodeIndex to) const {
  for (const NamedLink& named : links)
    if (named.from == from && named.to == to) return named.spec;
  return default_link;
}

DialledBy TopologyFile::dialled_by(NodeIndex from, NodeIndex to) const {
  for (const NamedLink& named : links)
    if (named.from == from && named.to == to) return named.way.dialled_by;
  return default_dialled_by;
}

const std::string& TopologyFile::dial_address(NodeIndex from, NodeIndex to) const {
  for (const NamedLink& named : links)
    if (named.from == from && named.to == to && !named.way.address.empty())
      return named.way.address;
  return nodes[dialled_by(from, to) == DialledBy::kSender ? to : from].dial_address();
}

std::optional<NodeIndex> TopologyFile::find_node(std::string_view name) const {
  const auto found = std::ranges::find(nodes, name, &NodeSpec::name);
  if (found == nodes.end()) return std::nullopt;
  return static_cast<NodeIndex>(found - nodes.begin());
}

std::string TopologyFile::canonical() const {
  TopologyFile topology = *this;
  Written text = written(topology);
  return canonical_text([&](Keys& keys) { describe(keys, topology, text); });
}

Loaded<TopologyFile> load_topology(const std::string& path) {
  Complaints complaints(path);
  const auto root = read_yaml(path, complaints);
  return load_topology(root ? &*root : nullptr, std::move(complaints));
}

Loaded<TopologyFile> load_topology(const YamlValue* root, Complaints complaints) {
  Loaded<TopologyFile> loaded;
  TopologyFile& topology = loaded.value;
  const std::string path = complaints.file();
  topology.places = Places(path);
  if (root != nullptr) {
    Written written;
    read_keys(*root, "", complaints, topology.places,
              [&](Keys& keys) { describe(keys, topology, written); });
    Findings findings(complaints, topology.places);
    if (topology.keys_folder.empty()) topology.keys_folder = path_beside(path, "keys");
    check_nodes(topology, findings);
    if (topology.kind != nullptr && has_good_nodes(*root, topology))
      resolve(written, topology, findings);
  }
  loaded.problems = complaints.take();
  return loaded;
}

std::vector<Problem> set_kind(TopologyFile& topology, std::string_view kind,
                              const std::string& keys) {
  KIMESH_CHECK(topology.nodes.size() >= limits::kNodesMin, "a topology has two nodes");
  Complaints complaints("(made by a program)");
  Places places(complaints.file());
  topology.kind = topology_kinds().make(kind);
  const auto root =
      keys.empty() ? YamlValue{YamlValue::Kind::kMap, 0, {}, {}, {}} : parse_yaml(keys, complaints);
  if (root)
    read_keys(*root, "", complaints, places,
              [&](Keys& visitor) { topology.kind->describe(visitor); });
  if (topology.servers.empty() || topology.kind->all_serve()) let_all_serve(topology);
  Findings findings(complaints, places);
  if (complaints.empty() && !topology.kind->resolve(topology, findings))
    KIMESH_CHECK(!complaints.empty(), "a kind that cannot be resolved has a complaint");
  return complaints.take();
}

}  // namespace kimesh
