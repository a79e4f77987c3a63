// Ctrl-C, and a wish for a checkpoint, for commands that run in this process.
#pragma once

#include <atomic>

namespace kimesh::cli {

// Installs a handler: the first SIGINT or SIGTERM sets the flag, a second one kills the process.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();
// Installs a handler: SIGUSR1, which asks for a checkpoint, sets the flag. Whoever sees it sets it
// back.
[[nodiscard]] std::atomic<bool>& save_on_signal();

}  // namespace kimesh::cli
