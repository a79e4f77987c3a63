// The limits of what a user's file may say, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kimesh::limits {

// Files. A person writes kilobytes; what is larger is some other file, and is not read into memory.
inline constexpr std::size_t kYamlBytesMax = 1 << 20;
inline constexpr std::size_t kYamlDepthMax = 16;  // we need 4; the parser recurses per level

// Quoted from a user's file in a sentence: enough to recognise it.
inline constexpr std::size_t kQuotedMax = 60;

}  // namespace kimesh::limits
