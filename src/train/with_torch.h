// Private to the layer.
#pragma once

#include <exception>

#include "kimesh/util/check.h"

namespace kimesh {

// LibTorch throws when it runs out of memory or when we call it wrongly: neither can be mended, and
// no exception passes the door.
template <typename Work>
auto with_torch(const Work& work) {
  try {
    return work();
  } catch (const std::exception& trouble) {
    check_failed(__FILE__, __LINE__, "LibTorch works", trouble.what());
  }
}

}  // namespace kimesh
