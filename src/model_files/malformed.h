// The error of a file that does not hold what it should. Private to the layer.
#pragma once

#include <string>

#include "kimesh/util/result.h"

namespace kimesh {

// `why` goes on from the path, as "holds no rounds".
inline Error malformed(const std::string& path, const std::string& why) {
  return {ErrorCode::kMalformed, path + " " + why};
}

}  // namespace kimesh
