// The section `data` of a config: what is learnt from, and who holds which part of it.
#pragma once

#include <memory>

#include "kimesh/config/keys.h"
#include "kimesh/data/data_kind.h"
#include "kimesh/data/split_kind.h"

namespace kimesh {

struct DataOptions {
  std::shared_ptr<DataKind> kind = data_kinds().make("digits");
  int batch = 32;      // samples per node and round
  int accumulate = 1;  // the batch is computed in so many equal parts, which needs less memory
  std::shared_ptr<SplitKind> split = split_kinds().make("even");

  void describe(Keys& keys);
};

}  // namespace kimesh
