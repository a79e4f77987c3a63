// Topology files (topologies/*.yaml): the nodes, how they are joined, and what their links carry.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/config/places.h"
#include "kimesh/config/problem.h"
#include "kimesh/emulation/link_spec.h"
#include "kimesh/topology/topology_kind.h"
#include "kimesh/util/ids.h"

namespace kimesh {

class Complaints;
class Keys;
struct YamlValue;

inline constexpr std::size_t kNodesMax = 1024;  // node indices travel in 16 bits; tables are N²

struct NodeSpec {
  std::string name;                            // [a-z0-9_-]{1,32}
  std::string address;                         // tcp://HOST:PORT
  std::string dial;                            // where others connect to; empty: to `address`
  std::optional<double> uplink_bits_per_s;     // shared by all outgoing links, max-min
  std::optional<double> downlink_bits_per_s;   // shared by all incoming links (simulator)
  std::optional<double> max_rate_bits_per_s;   // that all outgoing links together may send at
  std::optional<std::uint64_t> traffic_bytes;  // that its messages may take in the whole run
  std::optional<double> data_weight;           // > 0; default: the node's share of the data
  std::optional<double> shard_weight;          // > 0; size of its shard beside the others'
  std::optional<unsigned> local_steps;         // of a round; default: what the config says

  // The limit on the rate of all outgoing links together, bits/s: the smaller of uplink, which the
  // node has, and max_rate, which it may use.
  [[nodiscard]] std::optional<double> sending_cap_bits_per_s() const;
  // Where others connect to.
  [[nodiscard]] const std::string& dial_address() const { return dial.empty() ? address : dial; }
  void describe(Keys& keys);
};

// What a topology file says of its links' encryption. Unspecified is CURVE where a node can be
// reached from other machines, and none where all are on loopback.
enum class Security { kUnspecified, kNone, kCurve };

// Which node opens the connection of a link.
enum class DialledBy { kSender, kReceiver };

// How the connection of a link is made.
struct LinkWay {
  DialledBy dialled_by = DialledBy::kSender;
  std::string address;  // where it is dialled, tcp://HOST:PORT; empty: the dialled node's own
};

struct TopologyFile {
  std::shared_ptr<TopologyKind> kind;  // null: none was read; copies of a topology share it
  std::vector<NodeSpec> nodes;         // in the order of the file
  std::vector<NodeIndex> servers;      // who owns a shard, ascending
  LinkSpec default_link;
  DialledBy default_dialled_by = DialledBy::kSender;
  struct NamedLink {
    NodeIndex from, to;
    LinkSpec spec;
    LinkWay way{};
  };
  std::vector<NamedLink> links;     // those that the file names, sorted by (from, to)
  std::vector<std::string> traces;  // files that links name, as they are written, each once
  Security security = Security::kUnspecified;  // as written: is_encrypted() decides
  // The folder of the key files (mesh/keys.h); of a file: `keys` beside it by default.
  std::string keys_folder;
  Duration dead_after{std::chrono::seconds(15)};     // silence after which a peer counts as dead
  Duration start_timeout{std::chrono::seconds(60)};  // how long a start waits for the others
  // The most that a node's first gradient may take; those that follow are held against it.
  Duration first_gradient{std::chrono::minutes(30)};
  Places places;  // empty when it was not read from a file

  // The emulation of the directed link from -> to.
  [[nodiscard]] const LinkSpec& link(NodeIndex from, NodeIndex to) const;
  // Who opens the connection of the directed link from -> to, and where to.
  [[nodiscard]] DialledBy dialled_by(NodeIndex from, NodeIndex to) const;
  [[nodiscard]] const std::string& dial_address(NodeIndex from, NodeIndex to) const;
  [[nodiscard]] std::optional<NodeIndex> find_node(std::string_view name) const;
  // Whether each gradient reaches every owner in one hop, whatever the rates and the number of
  // nodes. A tree or graph that happens to be a star does not count.
  [[nodiscard]] bool is_one_hop() const { return kind->is_one_hop(); }
  // Whether a node can be reached from other machines. A host name other than localhost counts.
  [[nodiscard]] bool is_reachable() const;
  // Whether the links are encrypted: `security: curve` is written, or nothing where is_reachable().
  [[nodiscard]] bool is_encrypted() const;
  // The text of all that nodes must agree on; files of the same meaning give the same text, whose
  // digest goes into the handshake. Addresses are left out, since a node may be reached under
  // several, and so is security: where it differs no connection comes to a handshake.
  [[nodiscard]] std::string canonical() const;
};

// Declares the keys of a topology file, with their defaults, for help and docs.
void describe_topology(Keys& keys);

// Reads and checks the file whole: unknown keys, wrong units, a node without an address, a ring of
// one, two nodes on one address, a trace that cannot be read. Trace paths are relative to the file.
// Errors: in `problems`.
[[nodiscard]] Loaded<TopologyFile> load_topology(const std::string& path);
// The same of a file that was read before: what read_yaml returned (null: nothing) and what it
// complained of.
[[nodiscard]] Loaded<TopologyFile> load_topology(const YamlValue* root, Complaints complaints);

// Gives a topology that a program makes a kind of the table, with `keys` as in a file ("fan_out:
// 2"). Requires two nodes at least. All nodes serve afterwards, unless servers were set before.
// Returns the problems of `keys`.
[[nodiscard]] std::vector<Problem> set_kind(TopologyFile& topology, std::string_view kind,
                                            const std::string& keys = "");

}  // namespace kimesh
