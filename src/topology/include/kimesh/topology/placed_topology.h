// A topology file moved to other addresses: what `kimesh export` writes beside a cluster's files.
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
  std::string text;  // of the file: all that it said, without its comments
  struct Trace {
    std::string path;  // where it lies now
    std::string name;  // how the text names it: a file beside it
  };
  std::vector<Trace> traces;
};

// The mesh of the file at `path` with each node at its place, in the order of the file, and with
// `security: none` written out, since this release does not encrypt. Means the same in all else.
// Requires: load_topology has no problem with it, and a place for each of its nodes. Errors: Io
// (the file is not what it was).
[[nodiscard]] Result<PlacedTopology> place_topology(const std::string& path,
                                                    std::span<const NodePlace> places);

}  // namespace kimesh
