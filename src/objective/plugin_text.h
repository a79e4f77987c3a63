// Texts that cross the border to a plugin.
#pragma once

#include <cstddef>
#include <string>

namespace kimesh {

inline constexpr std::size_t kWhyBytes = 1024;      // of a kimesh_why, which plugin.h promises
inline constexpr std::size_t kPluginNameMax = 200;  // characters of a model or a tensor

// `text`, of which no more than kWhyBytes are read, without control characters and a full stop.
[[nodiscard]] std::string one_line(const char* text);
[[nodiscard]] bool is_plugin_name(const char* name);

}  // namespace kimesh
