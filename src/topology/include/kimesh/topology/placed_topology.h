// A topology file made of another one: `kimesh export` writes it with other addresses beside the
// files of a cluster, `kimesh up --ssh` copies it to other machines.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

struct NodePlace {
  std::string address, dial;  // as in NodeSpec
};

struct PlacedTopology {
  std::string text;  // of the new file: all that the old one said, without its comments
  struct Trace {
    std::string path;  // where it lies now
    std::string name;  // how the text names it: a file beside it
  };
  std::vector<Trace> traces;
};

// The topology of the file at `path` without `keys`, which lie elsewhere then, and with its traces
// beside it; everything else keeps its meaning. Requires: load_topology has no problem with it.
// Errors: Io (the file is not what it was).
[[nodiscard]] Result<PlacedTopology> move_topology(const std::string& path);

// The same, where `places` replace the addresses, in the order of the nodes, links have no
// addresses of their own, and the security is written out: none where the file says so, else curve.
// Requires: a place for each node, too.
[[nodiscard]] Result<PlacedTopology> place_topology(const std::string& path,
                                                    std::span<const NodePlace> places);

// How the nodes are to be joined, by their names.
struct NewJoins {
  std::string kind;                                            // of topology_kinds()
  std::vector<std::pair<std::string, std::string>> parents{};  // of kind: tree: NODE, PARENT
  std::vector<std::string> servers{};                          // empty: all
  std::vector<std::string> nodes{};                            // all, in their new order
  std::vector<double> shard_weights{};                         // in that order; empty: all alike
  // Whether a link of the old file still carries something.
  std::function<bool(const std::string& from, const std::string& to)> carries{};
  bool is_encrypted = false;  // the new file finds the keys of the old one
};
// The text of the topology at `path` with other joins, to lie at `new_path`: addresses, security,
// times and those links that still carry something stay, comments and keys of the old kind go.
// Requires and errors: as move_topology.
[[nodiscard]] Result<std::string> join_anew(const std::string& path, const std::string& new_path,
                                            const NewJoins& joins);

}  // namespace kimesh
