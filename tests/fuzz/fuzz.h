// What the fuzzers and the program that writes their seeds agree on.
#pragma once

#include <cstddef>

namespace kimesh::fuzz {

// The size of the vector that a payload is for, at the head of an input: u16.
inline constexpr std::size_t kSizeBytes = 2, kElementsMax = 5000;

}  // namespace kimesh::fuzz
