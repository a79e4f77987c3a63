// A topology file with other addresses, which `kimesh export` writes beside the files of a cluster.
#pragma once

#include <span>
#include <string>
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

// The topology of the file at `path`, where `places` replace the addresses, in the order of the
// nodes, and the security is written out: none where the file says so, else curve, without
// `keys`, which lie elsewhere then. Everything else keeps its meaning. Requires: load_topology has
// no problem with it, and a place for each of its nodes. Errors: Io (the file is not what it was).
[[nodiscard]] Result<PlacedTopology> place_topology(const std::string& path,
                                                    std::span<const NodePlace> places);

}  // namespace kimesh
