// Both sets of some data, whole.
#pragma once

#include <numeric>

#include "kimesh/data/dataset.h"

namespace kimesh {

struct DataSets {
  Dataset train, test;
};

inline std::vector<std::uint32_t> all_of(const SampleClasses& classes) {
  std::vector<std::uint32_t> samples(classes.samples());
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

inline Result<DataSets> read_all(const DataConfig& config, std::uint64_t seed) {
  const auto source = open_data(config, seed);
  if (!source) return source.error();
  auto train = (*source)->read_train(all_of((*source)->train()));
  if (!train) return train.error();
  auto test = (*source)->read_test(all_of((*source)->test()));
  if (!test) return test.error();
  return DataSets{std::move(*train), std::move(*test)};
}

}  // namespace kimesh
