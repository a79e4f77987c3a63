// Ports of this machine that nobody uses: for nodes that all run here.
#pragma once

#include <cstddef>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

// `count` different TCP ports of 127.0.0.1 on which nobody listens. The kernel may give one to
// another process before the caller listens on it. Errors: Network, as where the process may not
// open so many sockets. Thread: any.
[[nodiscard]] Result<std::vector<int>> free_ports(std::size_t count);

}  // namespace kimesh
