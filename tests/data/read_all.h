// Both sets of some data, whole.
#pragma once

#include <numeric>

#include "kimesh/config/options_of_text.h"
#include "kimesh/data/data_options.h"
#include "kimesh/data/dataset.h"

namespace kimesh {

// What a config's section `data` says: "kind: digits, test_share: 0.3".
inline DataOptions data_options(const std::string& keys) {
  return options_of_text<DataOptions>("{" + keys + "}");
}

struct DataSets {
  Dataset train, test;
};

inline std::vector<std::uint32_t> all_of(const SampleClasses& classes) {
  std::vector<std::uint32_t> samples(classes.samples());
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

inline Result<DataSets> read_all(const DataOptions& data, std::uint64_t seed) {
  const auto source = open_data(*data.kind, seed);
  if (!source) return source.error();
  auto train = (*source)->read_train(all_of((*source)->train()));
  if (!train) return train.error();
  auto test = (*source)->read_test(all_of((*source)->test()));
  if (!test) return test.error();
  return DataSets{std::move(*train), std::move(*test)};
}

}  // namespace kimesh
