// The samples that one node holds in memory: its own, and nobody else's.
#pragma once

#include <cstdint>
#include <vector>

#include "kimesh/train/trainer.h"

namespace kimesh {

struct NodeData {
  Dataset train, test;  // sample k of train is the k-th of the node's part
  std::vector<std::uint32_t> train_order, test_order;  // 0, 1, 2, ...
};

// Requires node < data.parts.size(). Errors: as DataSource::read_train.
[[nodiscard]] Result<NodeData> read_node_data(const TrainingData& data, NodeIndex node,
                                              std::uint64_t seed);

}  // namespace kimesh
