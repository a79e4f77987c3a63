// What this program calls itself.
#pragma once

#include <string>

namespace kimesh::cli {

inline constexpr const char* kVersion = KIMESH_VERSION;  // of CMakeLists.txt

// Compiler and whether it optimised: what equal bits may depend on.
inline std::string build_text() {
#ifdef __OPTIMIZE__
  return std::string("g++ ") + __VERSION__ + ", optimised";
#else
  return std::string("g++ ") + __VERSION__ + ", not optimised";
#endif
}

}  // namespace kimesh::cli
