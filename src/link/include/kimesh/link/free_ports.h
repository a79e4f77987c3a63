// Ports of this machine that nobody uses: for nodes that all run here.
#pragma once

#include <cstddef>
#include <vector>

namespace kimesh {

// `count` different TCP ports of 127.0.0.1 on which nobody listens. The kernel may give one to
// another process before the caller listens on it. Thread: any.
[[nodiscard]] std::vector<int> free_ports(std::size_t count);

}  // namespace kimesh
