// Ctrl-C for commands that run in this process.
#pragma once

#include <atomic>

namespace kimesh::cli {

// Installs a handler: the first SIGINT or SIGTERM sets the flag, a second one kills the process.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();

}  // namespace kimesh::cli
