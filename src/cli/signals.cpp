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

// Calls nothing that a signal handler may not call.
bool is_ignored(int signal) {
  struct sigaction current {};
  ::sigaction(signal, nullptr, &current);
  return current.sa_handler == SIG_IGN;
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
  for (const int signal : kStopSignals)
    if (signal != SIGHUP || !is_ignored(SIGHUP)) ::sigaddset(&set, signal);
  return set;
}

void stop_on_signals() {
  const sigset_t heard = stop_signals();
  for (const int signal : kStopSignals)
    if (::sigismember(&heard, signal) == 1) handle(signal, on_signal, SA_RESTART | SA_RESETHAND);
  ::sigprocmask(SIG_UNBLOCK, &heard, nullptr);
}

void stop_on_lost_output() {
  handle(SIGPIPE, SIG_IGN, 0);
}

void ignore_save_requests() {
  handle(SIGUSR1, SIG_IGN, 0);
}

void keep_child_statuses() {
  handle(SIGCHLD, SIG_DFL, 0);
}

std::atomic<bool>& save_on_signal() {
  handle(SIGUSR1, on_signal, SA_RESTART);
  return save_wanted;
}

}  // namespace kimesh::cli
