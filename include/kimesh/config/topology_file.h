// topologies/*.yaml: which nodes there are, how they are joined, and what their links can carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/config/problem.h"
#include "kimesh/emulation/link_spec.h"
#include "kimesh/util/ids.h"

namespace kimesh {

inline constexpr std::size_t kNodesMax = 1024;  // node indices travel in 16 bits; tables are N²

struct NodeSpec {
  std::string name;     // [a-z0-9_-]{1,32}
  std::string address;  // tcp://HOST:PORT
  std::string
      dial;  // where others connect to, when it is not `address` (containers); empty: the same
  std::optional<double> uplink_bits_per_s;    // shared by all outgoing links, max-min
  std::optional<double> downlink_bits_per_s;  // shared by all incoming links (simulator)
  std::optional<double> max_rate_bits_per_s;  // that it may send at in all, kept to everywhere
  std::optional<std::uint64_t>
      traffic_bytes;                   // that its messages may take in the run, each counted once
  std::optional<double> data_weight;   // > 0; default: the node's share of the data
  std::optional<double> shard_weight;  // > 0; size of its shard beside the others'
  int line = 0;
  // What its outgoing links share: the smaller of uplink and max_rate. The one says what the node
  // has, the other what it may use of it.
  [[nodiscard]] std::optional<double> sending_cap_bits_per_s() const;
};

enum class TopologyKind { kRing, kParameterServer, kTree, kGraph };
// As it is written after `kind:`.
[[nodiscard]] std::string_view name_of(TopologyKind kind);

enum class Security {
  kNone,
  kUnspecified
};  // `security: none` must be written for addresses beyond loopback

struct TopologyFile {
  TopologyKind kind = TopologyKind::kRing;
  std::vector<NodeSpec> nodes;     // in the order of the file
  std::vector<NodeIndex> servers;  // who owns a shard, ascending; ring: all
  // tree: on whom each node hangs; a root hangs on itself. `sites` gives one root a site, its head;
  // every root is joined with every other.
  std::vector<NodeIndex> parents;
  struct Edge {
    NodeIndex a, b;  // a < b
    auto operator<=>(const Edge&) const = default;
  };
  std::vector<Edge> edges;  // graph: who is joined with whom, both ways; sorted, each once
  LinkSpec default_link;
  struct NamedLink {
    NodeIndex from, to;
    LinkSpec spec;
  };
  std::vector<NamedLink> links;     // those that differ from the default
  std::vector<std::string> traces;  // files that links name, as they are written, each once
  Security security = Security::kUnspecified;
  Duration dead_after{
      std::chrono::seconds(15)};  // silence after which a peer counts as dead; >= 1 s
  Duration start_timeout{std::chrono::seconds(60)};  // how long a start waits for the others

  // The spec of the directed link from -> to.
  [[nodiscard]] const LinkSpec& link(NodeIndex from, NodeIndex to) const;
  // Whether each gradient reaches every owner in one hop, whatever the rates and the number of
  // nodes. What happens to be a star does not count: parameter_server is the word for it.
  [[nodiscard]] bool is_one_hop() const;
  // The parsed content as text: same meaning, same text. Its digest goes into the handshake. What
  // differs between places on purpose (address, dial) is left out.
  [[nodiscard]] std::string canonical() const;
};

// Reads and checks the file whole: unknown keys, wrong units, a node without an address, a ring of
// one, two nodes on one address, a trace that cannot be read. Trace paths are relative to the file.
// Errors: in `problems`.
[[nodiscard]] Loaded<TopologyFile> load_topology(const std::string& path);

}  // namespace kimesh
