// Meshes of tests/mesh/quadratic.yaml and a topology beside it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "kimesh/mesh/mesh.h"
#include "kimesh/objective/quadratic.h"

namespace kimesh::test {

inline MeshFiles files_of(const std::string& topology) {
  const std::string folder = KIMESH_SOURCE_DIR "/tests/mesh/";
  auto files = load_mesh_files(folder + "quadratic.yaml", folder + topology + ".yaml");
  for (const Problem& problem : files.problems) ADD_FAILURE() << to_string(problem);
  return std::move(files.value);
}

inline std::unique_ptr<Mesh> mesh_of(MeshFiles files) {
  auto objective = make_quadratic_mesh(*files.config.quadratic, files.topology.nodes.size(),
                                       declared_weights(files.topology), files.config.seed);
  auto mesh = Mesh::make(std::move(files), std::move(objective.value()));
  return std::move(mesh.value());
}

}  // namespace kimesh::test
