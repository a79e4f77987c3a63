// Ports of this machine that nobody uses.
#pragma once

#include <cstddef>
#include <vector>

namespace kimesh {

// TCP ports of 127.0.0.1 on which nobody listened a moment ago, each another one.
[[nodiscard]] std::vector<int> free_ports(std::size_t count);

}  // namespace kimesh
