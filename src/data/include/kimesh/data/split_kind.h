// Ways to deal the training samples out to the nodes. A way is one file in src/data and one line in
// its table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kimesh/config/kind_table.h"

namespace kimesh {

struct SampleClasses;

// What a split goes by.
struct SplitRequest {
  const SampleClasses& train;
  std::span<const double> weights;  // [nodes]: of the topology's nodes
  std::size_t nodes = 1;            // at most train.samples()
  std::uint64_t seed = 1;
};

class SplitKind : public KindOptions {
 public:
  // A kind without keys is written as a word, `split: even`. One with a key, which has the kind's
  // name, is written as a map; then this is an example of it: "{dirichlet: 0.3}".
  [[nodiscard]] virtual std::string_view example() const { return {}; }
  // Sizes go by the nodes' data_weight, so that each node must have one.
  [[nodiscard]] virtual bool needs_weights() const { return false; }

  // Whether every node holds the same share of every class, but for rounding.
  [[nodiscard]] virtual bool deals_alike() const { return false; }

  // Which samples each node holds, in any order. A function of the request: seeded, every sample
  // goes to exactly one node, every node gets at least one. Shape: [nodes][samples of the node].
  [[nodiscard]] virtual std::vector<std::vector<std::uint32_t>> deal(
      const SplitRequest& request) const = 0;
};

[[nodiscard]] KindTable<SplitKind>& split_kinds();

}  // namespace kimesh
