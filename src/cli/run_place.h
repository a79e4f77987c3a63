// Where the files of a node's run are: a new folder, or that of the run which it goes on with.
#pragma once

#include <optional>

#include "commands.h"
#include "kimesh/mesh/mesh.h"

namespace kimesh::cli {

struct RunPlace {
  RunFolder folder{""};
  bool resumes = false;    // MeshRunOptions::resumes
  bool has_ended = false;  // MeshRunOptions::has_ended
  // The run that came to its end before the node was killed. If nobody begins another one there is
  // nothing to do.
  std::optional<RunFolder> died_at_end{};
};

// Finds or makes the folder, and says where it is. Errors: UserInput, Io.
[[nodiscard]] Result<RunPlace> place_of(const Mesh& mesh, const NodeOptions& options);

}  // namespace kimesh::cli
