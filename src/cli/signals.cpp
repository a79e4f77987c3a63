#include "signals.h"

#include <csignal>

namespace kimesh::cli {
namespace {

// Signal handlers reach nothing but globals.
std::atomic<bool> stop_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

std::atomic<bool> save_wanted{false};

void on_signal(int signal) {
  (signal == SIGUSR1 ? save_wanted : stop_wanted) = true;
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  return stop_wanted;
}

std::atomic<bool>& save_on_signal() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGUSR1, &action, nullptr);
  return save_wanted;
}

}  // namespace kimesh::cli
