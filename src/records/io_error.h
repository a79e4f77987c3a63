// The sentence of a failed call of the system. Private to the layer.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "kimesh/util/result.h"

namespace kimesh {

// `what` is a participle, as "written". Call it before anything else sets errno.
inline Error io_error(const std::string& path, const char* what) {
  return {ErrorCode::kIo, fmt::format("{} cannot be {}: {}", path, what, std::strerror(errno))};
}

}  // namespace kimesh
