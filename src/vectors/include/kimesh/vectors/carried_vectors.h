// What the vectors of a mesh hold whatever its topology, for a run that goes on under another one.
#pragma once

#include <cstdint>
#include <vector>

#include "kimesh/util/ids.h"

namespace kimesh {

// Shapes: all [d], or empty where the config keeps none.
struct CarriedVectors {
  // Every shard from its owner; of an owner that is lost, from the first node that was added.
  std::vector<float> parameters;
  // The nodes' means, by data weight: every node goes on with the mean, so that the mesh's momentum
  // stays what it was. The same of the last movement, where nodes look ahead.
  std::vector<float> velocity, step, gradient;
  // The optimizer's vectors: of shards from their owners; of workers the mean.
  std::vector<std::vector<float>> moments;
  std::uint64_t optimizer_steps = 0;
  Round movement_round = 0;
  bool is_in_velocity = false;  // the last movement
  bool is_sum = false;          // and whether it was one of several local steps
};

}  // namespace kimesh
