#include "signals.h"

namespace kimesh::cli {
namespace {

// Signal handlers reach nothing but globals.
constexpr int kStopSignals[]{SIGINT, SIGTERM, SIGHUP};
std::atomic<bool> wanted{false}, save_wanted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

void on_signal(int signal) {
  if (signal == SIGUSR1)
    save_wanted = true;
  else
    want_stop();
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& stop_wanted() {
  return wanted;
}

void want_stop() {
  wanted = true;
}

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kStopSignals) ::sigaddset(&set, signal);
  return set;
}

void stop_on_signals() {
  for (const int signal : kStopSignals) handle(signal, on_signal, SA_RESTART | SA_RESETHAND);
  const sigset_t heard = stop_signals();
  ::sigprocmask(SIG_UNBLOCK, &heard, nullptr);
}

void stop_on_lost_output() {
  handle(SIGPIPE, SIG_IGN, 0);
}

std::atomic<bool>& save_on_signal() {
  handle(SIGUSR1, on_signal, SA_RESTART);
  return save_wanted;
}

}  // namespace kimesh::cli
