// kind: plugin. A shared library that brings model, data and gradients: what it exports is in
// plugin.h, which is C. Here it is found, checked and made the objective of a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/config/places.h"
#include "kimesh/config/problem.h"
#include "kimesh/objective/mesh_objective.h"
#include "kimesh/objective/plugin.h"

namespace kimesh {

// The keys of `model: {kind: plugin}`.
struct PluginOptions {
  std::string library;                                       // resolved
  std::vector<std::pair<std::string, std::string>> options;  // for the library, in their order
};

// Lets configs name it. Call before the first file is read; once more does nothing. Thread: as
// KindTable::add.
void add_plugin_model();

// Loads the library, for as long as the process lives, and checks what it exports. Null where there
// is a problem, which names the line of `model.library` in `places`. Thread: any.
[[nodiscard]] Loaded<const kimesh_plugin*> open_plugin(const std::string& library,
                                                       const Places& places);

struct PluginMesh {
  PluginOptions model;
  Places places;                // of the config, for sentences
  std::vector<double> weights;  // ω_i, one a node
  std::uint64_t seed = 1;
  bool only_parameters = false;  // all that nodes agree on, as with `objective: own`
};

// Opens the library and asks for its tensors and its first point. Errors: UserInput, with file and
// line of `model.library`: those of open_plugin, tensors that cannot be, what the library refuses.
[[nodiscard]] Result<std::unique_ptr<MeshObjective>> make_plugin_mesh(PluginMesh mesh);

}  // namespace kimesh
