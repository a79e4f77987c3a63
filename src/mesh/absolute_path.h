// Paths that mean the same file after a program has changed its directory.
#pragma once

#include <filesystem>
#include <string>

namespace kimesh {

// Empty where `path` is.
[[nodiscard]] inline std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace kimesh
