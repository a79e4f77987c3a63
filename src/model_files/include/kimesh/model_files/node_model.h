// The model that one node leaves at its end, and one model made of those of several nodes.
//
// After a normal end the files of all nodes are equal. After any other end every node leaves all
// parameters as it last held them: the newest state of the shards that it owns, and its copies of
// the others, which may be a round older. So a node that is lost takes no parameter with it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/model_files/model_files.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Where a node's model comes from, which its file keeps as metadata:
//   kimesh_mesh         digest of config and topology: nodes of one mesh have the same
//   kimesh_parameters   their number; tensors that are frozen follow them
//   kimesh_round        that the node was in
//   kimesh_lineage      the number of the run, or of its going on (round/control.h)
//   kimesh_node         its number among kimesh_nodes, from 0
//   kimesh_owned        its shards, as "BEGIN:END BEGIN:END ..." in elements of the parameters
// A model that all nodes agree on has the first two only.
struct ModelOrigin {
  struct Range {
    std::size_t begin = 0, end = 0;
    bool operator==(const Range&) const = default;
  };
  // Where in which run a node was.
  struct Place {
    Round round = 0;
    std::uint64_t lineage = 0;
    bool operator==(const Place&) const = default;
  };
  struct Unagreed {
    Place place;
    NodeIndex node = 0;
    std::size_t nodes = 0;
    std::vector<Range> owned;  // ascending
    bool operator==(const Unagreed&) const = default;
  };
  std::uint64_t mesh = 0;
  std::size_t parameters = 0;
  std::optional<Unagreed> unagreed;  // nothing: all nodes agree on the model
  bool operator==(const ModelOrigin&) const = default;
};
// What a node that was at `place` leaves when its mesh did not end normally.
[[nodiscard]] ModelOrigin unagreed_origin(std::uint64_t mesh, const Plan& plan, NodeIndex node,
                                          ModelOrigin::Place place);

[[nodiscard]] TensorMetadata metadata_of(const ModelOrigin& origin);
// Errors: Malformed (the file is no node's model, or what it says of itself cannot be), naming the
// path.
[[nodiscard]] Result<ModelOrigin> origin_of(const TensorFile& file, const std::string& path);

struct NodeModelFile {
  std::string node;  // its name
  std::string path;
};
struct JoinedModel {
  struct Source {
    std::string node;
    std::optional<Round> round;  // nothing: an agreed model
  };
  std::vector<Source> sources;  // by number of the node
  // Every shard is its owner's. Otherwise those of nodes that left nothing are other nodes' copies.
  bool complete = false;
};
// Writes the one model that the files make: a model that nodes agree on where there is one; else
// every shard as its owner left it, and shards whose owner left nothing from the node that was in
// the highest round, the first of them in the topology's order. Requires at least one file.
// Errors: Io; Malformed (files of different meshes, of one node twice, or of different ends: of
// different lineages, or of rounds that are more than one apart), naming the files. Nothing is
// written then.
[[nodiscard]] Result<JoinedModel> join_models(std::vector<NodeModelFile> files,
                                              const std::string& output);

}  // namespace kimesh
