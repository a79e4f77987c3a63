// How samples are dealt out to the nodes and to the rounds: pure functions of the seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/data/dataset.h"
#include "kimesh/data/split_kind.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Which training samples each node holds, ascending, as `kind` deals them out. Requires
// samples >= nodes >= 1.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> split_data(const SplitKind& kind,
                                                                 const SplitRequest& request);

// Node `node`'s part of the test set: every nodes-th sample of a seeded stratified order.
[[nodiscard]] std::vector<std::uint32_t> test_part(const SampleClasses& test, NodeIndex node,
                                                   std::size_t nodes, std::uint64_t seed);

// A node's batches: seeded permutations of its part, one after another. The permutation of the last
// epoch is kept, so that a batch costs its own size except where an epoch begins.
class Batches {
 public:
  Batches(std::vector<std::uint32_t> part, NodeIndex node, std::uint64_t seed);
  // The samples of batch `number`, of `size` samples, counted from 0 (Objective::gradient); valid
  // until the next call. The same whatever was asked for before. A part smaller than the batch is
  // repeated. Requires a part that is not empty, size > 0, number · size < 2^64.
  [[nodiscard]] std::span<const std::uint32_t> samples(int size, std::uint64_t number);
  // Permutations drawn so far: one an epoch where batches are asked for in their order.
  [[nodiscard]] std::uint64_t drawn() const { return drawn_; }

 private:
  // The part as epoch `epoch` visits it.
  std::span<const std::uint32_t> order_of(std::uint64_t epoch);

  std::vector<std::uint32_t> part_, order_;  // [samples of the part]
  std::vector<std::uint32_t> joined_;        // a batch that goes on in the next epoch
  std::optional<std::uint64_t> epoch_;       // of order_
  std::uint64_t drawn_ = 0;
  NodeIndex node_;
  std::uint64_t seed_;
};

// One batch alone, as Batches has it.
[[nodiscard]] std::vector<std::uint32_t> batch_samples(std::span<const std::uint32_t> part,
                                                       int batch, std::uint64_t number,
                                                       NodeIndex node, std::uint64_t seed);

}  // namespace kimesh
