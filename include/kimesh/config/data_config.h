// The section `data` of a config: what is learnt from, and who holds which part of it.
#pragma once

#include <cstdint>
#include <string>

namespace kimesh {

enum class DataKind { kDigits, kCifar10 };
enum class SplitKind { kEven, kWeights, kDirichlet, kByLabel };

struct DataConfig {
  DataKind kind = DataKind::kDigits;
  // cifar10: folder with the binary batches. Written relative to the config file; here it is
  // resolved.
  std::string path;
  int batch = 32;      // samples per node and round
  int accumulate = 1;  // the batch is computed in so many equal parts, which needs less memory
  SplitKind split = SplitKind::kEven;
  double dirichlet = 0.3;   // concentration, > 0
  double test_share = 0.2;  // digits: stratified share kept out for the test set
  int split_line = 0;       // of the config file, for sentences
};

// As RunConfig::canonical, of this section.
[[nodiscard]] std::string canonical(const DataConfig& data);

}  // namespace kimesh
