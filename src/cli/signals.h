// How commands that run long are stopped, and asked for a checkpoint.
#pragma once

#include <atomic>
#include <csignal>

namespace kimesh::cli {

// True once somebody wants this process to stop.
[[nodiscard]] const std::atomic<bool>& stop_wanted();
void want_stop();  // async-signal-safe

// SIGINT, SIGTERM and SIGHUP; without SIGHUP where whoever started the process ignores it, as nohup
// does. (A shell that starts something in the background ignores SIGINT for it, which is heard all
// the same.) Async-signal-safe.
[[nodiscard]] sigset_t stop_signals();
// Installs handlers: the first of these signals wants to stop, a second one of the same kind kills
// the process. Signals that were blocked until now are heard.
void stop_on_signals();
// From now on output that nobody reads any more, on a closed pipe or terminal, does not kill the
// process: say() wants to stop then.
void stop_on_lost_output();
// Until save_on_signal a request for a checkpoint does nothing. Without this it kills the process.
void ignore_save_requests();
// The ends of children can be waited for, also where whoever started this process ignores those of
// its own.
void keep_child_statuses();
// Installs a handler: SIGUSR1, which asks for a checkpoint, sets the flag. Whoever sees it sets it
// back.
[[nodiscard]] std::atomic<bool>& save_on_signal();

}  // namespace kimesh::cli
