// Whether a sanitizer has built this test.
#pragma once

#include <cstdint>

namespace kimesh::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// A sanitizer looks at memory and threads, and makes a run ten times longer. A fifth of the seeds
// takes it through the same code.
constexpr std::uint64_t seeds_of(std::uint64_t count) {
  return kSanitized ? count / 5 : count;
}

}  // namespace kimesh::test
