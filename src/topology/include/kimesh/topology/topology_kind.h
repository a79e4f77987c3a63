// A kind of topology: its keys, its traits, and the trees along which shards travel. A kind is a
// class in a file of its own, src/topology/NAME.cpp, and a line of the table in
// src/topology/kinds.cpp. Nothing else knows kinds by name.
#pragma once

#include <string>
#include <vector>

#include "kimesh/config/findings.h"
#include "kimesh/config/kind_table.h"
#include "kimesh/util/ids.h"

namespace kimesh {

struct TopologyFile;

// The two trees of one shard, by node. Both have their root at the owner, which is its own parent.
struct Trees {
  std::vector<NodeIndex> reduce_parent;  // whom the node sends its sum to
  std::vector<NodeIndex> gather_parent;  // whom the node gets the parameters from
};

// `topology` is the file that the kind belongs to. All functions but resolve() require that
// resolve() returned true. Thread: any, once resolved.
class TopologyKind : public KindOptions {
 public:
  // describe(Keys&), from KindOptions, declares the kind's own keys; nodes are names there.

  // Looks up the names of nodes, once all nodes are known, and complains about keys that do not
  // fit. Puts the keys into one form for all files of the same meaning, since nodes compare them.
  // Returns false after a complaint; the joins of the nodes are not known then.
  [[nodiscard]] virtual bool resolve(const TopologyFile& /*topology*/, Findings& /*findings*/) {
    return true;
  }

  // ---- traits
  // Every node owns a shard: `servers` cannot name some of them.
  [[nodiscard]] virtual bool all_serve() const { return false; }
  // Each gradient reaches every owner in one hop, whatever the rates and the number of nodes.
  [[nodiscard]] virtual bool is_one_hop() const { return false; }
  // Whether a message may travel from one node to another directly, at some rates of the links.
  [[nodiscard]] virtual bool carries(const TopologyFile& topology, NodeIndex from,
                                     NodeIndex to) const = 0;
  // The remedy for a link of the file that carries nothing.
  [[nodiscard]] virtual std::string remedy_for_unused() const = 0;

  // ---- shape
  // One pair of trees for each of topology.servers, in their order.
  [[nodiscard]] virtual std::vector<Trees> trees(const TopologyFile& topology) const = 0;
  // A picture of the joined nodes for people, in lines that begin with two spaces.
  [[nodiscard]] virtual std::string picture(const TopologyFile& topology) const = 0;
};

// The kinds that `kind:` of a topology file may name. Programs that use kimesh as a library add
// their own before the first file is read.
[[nodiscard]] KindTable<TopologyKind>& topology_kinds();
// The kinds of one hop, for remedies: "parameter_server".
[[nodiscard]] std::string one_hop_kinds();

}  // namespace kimesh
