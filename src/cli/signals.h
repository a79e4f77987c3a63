// Ctrl-C for the commands that run in this very process.
#pragma once

#include <atomic>

namespace kimesh::cli {

// From now on the first SIGINT or SIGTERM sets the flag; a second one kills, as is usual.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();

}  // namespace kimesh::cli
