// Labelled images in memory, and how they are dealt out to the nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kimesh/config/run_config.h"
#include "kimesh/data/sample_shape.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Samples are channels x height x width, row-major. They stay bytes, a quarter of the memory that
// float32 would take; scale and offset bring them to about [-1, 1] when a batch is made.
struct Dataset {
  SampleShape shape;
  std::vector<std::uint8_t> pixels;  // [samples][channels][height][width]
  std::vector<float> scale, offset;  // [channels]
  std::vector<std::uint8_t> labels;  // [samples]
  [[nodiscard]] std::size_t samples() const { return labels.size(); }
  // Writes pixel · scale + offset. Shape: out [shape.inputs()]. Requires sample < samples().
  void copy_sample(std::uint32_t sample, std::span<float> out) const;
};

struct DataSets {
  Dataset train, test;
};

// - digits: embedded (UCI optical recognition of handwritten digits, CC BY 4.0), the test set a
//   seeded, stratified share.
// - cifar10: data_batch_*.bin and test_batch.bin of the folder (CIFAR-10 binary version: records of
//   3073 bytes, a label and 3 x 32 x 32 pixels; the sizes of the files say how many).
//
// `config.path` is taken as it is, relative to the process.
// Errors: UserInput (a file is missing, has the wrong size or a label over 9), naming it.
[[nodiscard]] Result<DataSets> load_data(const DataConfig& config, std::uint64_t seed);

// Which training samples each node holds, ascending. Seeded; every sample goes to exactly one node,
// every node gets at least one. Requires samples >= nodes >= 1.
// - even: stratified.
// - weights: stratified, sizes in proportion to `weights` [nodes], which nothing else reads.
// - dirichlet: each class dealt by a draw of Dirichlet(concentration) (Hsu et al., 2019).
// - by_label: sorted by label and cut, so a node sees few classes.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> split_data(const Dataset& train,
                                                                 const DataConfig& config,
                                                                 std::span<const double> weights,
                                                                 std::size_t nodes,
                                                                 std::uint64_t seed);

// Node `node`'s part of the test set: every nodes-th sample of a seeded stratified order.
[[nodiscard]] std::vector<std::uint32_t> test_part(const Dataset& test, NodeIndex node,
                                                   std::size_t nodes, std::uint64_t seed);

// The samples of the node's batch in `round`: seeded permutations of its part, one after another.
// A part smaller than the batch is repeated.
[[nodiscard]] std::vector<std::uint32_t> batch_samples(std::span<const std::uint32_t> part,
                                                       int batch, Round round, NodeIndex node,
                                                       std::uint64_t seed);

}  // namespace kimesh
