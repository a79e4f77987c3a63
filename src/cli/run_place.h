// Where the files of a node's run are: a new folder, or that of the run which it goes on with.
#pragma once

#include "commands.h"
#include "kimesh/mesh/mesh.h"

namespace kimesh::cli {

struct RunPlace {
  RunFolder folder{""};
  bool resumes = false;    // MeshRunOptions::resumes
  bool has_ended = false;  // MeshRunOptions::has_ended
};

// Finds or makes the folder, and says where it is. Errors: UserInput, Io.
[[nodiscard]] Result<RunPlace> place_of(const Mesh& mesh, const NodeOptions& options);

}  // namespace kimesh::cli
