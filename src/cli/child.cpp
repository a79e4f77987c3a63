#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "commands.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

// A bundle's program is started by a launcher of its own (cmake/bundle/launcher.c), and the system
// takes its loader for the program.
const char* this_program() {
  const char* launcher = std::getenv("KIMESH_LAUNCHER");
  return launcher == nullptr || *launcher == '\0' ? "/proc/self/exe" : launcher;
}

// A program that is about to start: its descriptors are still this process's.
struct Start {
  const char* program;
  std::vector<char*> words;
  Fd in, out, err;
};

// Runs between fork and exec, with async-signal-safe calls only.
[[noreturn]] void exec_child(const Start& start, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kExitFailed);  // the parent has died before
  // A request to stop waits until the node hears it (stop_on_signals).
  const sigset_t later = stop_signals();
  ::sigprocmask(SIG_SETMASK, &later, nullptr);
  ::signal(SIGUSR1, SIG_IGN);  // until the node can answer it, it asks for nothing
  if (::dup2(start.in.get(), STDIN_FILENO) >= 0 && ::dup2(start.out.get(), STDOUT_FILENO) >= 0 &&
      ::dup2(start.err.get(), STDERR_FILENO) >= 0)
    ::execv(start.program, start.words.data());
  ::_exit(kExitFailed);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

Fd open_output(const std::string& path) {
  return Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
}

// Returns -1, with errno, where the process cannot be started.
pid_t fork_child(const Start& start) {
  const pid_t parent = ::getpid();
  const pid_t process = start.in && start.out && start.err ? ::fork() : -1;
  if (process == 0) exec_child(start, parent);
  if (process > 0) ::setpgid(process, process);  // in both processes, since either may be first
  return process;
}

Error not_started(const std::string& log) {
  return {ErrorCode::kIo,
          fmt::format("a node with its log {} cannot be started: {}", log, std::strerror(errno))};
}

// The line that asks for a signal at a node elsewhere; null: nodes elsewhere do not get it.
const char* name_of(int signal) {
  switch (signal) {
    case SIGINT:
      return "INT\n";
    case SIGTERM:
      return "TERM\n";
    case SIGKILL:
      return "KILL\n";
    case SIGCONT:
      return "CONT\n";
    case SIGUSR1:
      return "USR1\n";
    default:
      return nullptr;
  }
}

// Exit codes of shells and of ssh.
constexpr int kKilledBy = 128, kNoConnection = 255;

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<std::string> words{"kimesh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Start start{this_program(), pointers_to(words),
                    Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
                    Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)), open_output(log)};
  const pid_t process = fork_child(start);
  if (process < 0) return not_started(log);
  return Child(process);
}

Result<Child> Child::start_elsewhere(const std::vector<std::string>& command,
                                     const std::string& host, const ChildOutput& output) {
  // The program env looks the first word up in PATH.
  std::vector<std::string> words{"env"};
  words.insert(words.end(), command.begin(), command.end());
  int ends[2]{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return not_started(output.err);
  Fd signals(ends[0]);
  const Start start{"/usr/bin/env", pointers_to(words), Fd(ends[1]), open_output(output.out),
                    open_output(output.err)};
  const pid_t process = fork_child(start);
  if (process < 0) return not_started(output.err);
  Child child(process);
  child.host_ = host;
  child.signals_ = std::move(signals);
  return child;
}

void Child::update() {
  if (!running_) return;
  if (::waitpid(process_, &status_, WNOHANG) == process_) running_ = false;
}

void Child::wait() {
  while (running_) {
    if (::waitpid(process_, &status_, 0) == process_) running_ = false;
  }
}

int Child::killer() const {
  if (running_) return 0;
  if (WIFSIGNALED(status_)) return WTERMSIG(status_);
  const int code = WEXITSTATUS(status_);
  return !host_.empty() && code > kKilledBy && code < kNoConnection ? code - kKilledBy : 0;
}

bool Child::was_killed() const {
  return killer() != 0;
}

std::string Child::how_it_ended() const {
  if (const int signal = killer(); signal != 0)
    return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
  if (!host_.empty() && WEXITSTATUS(status_) == kNoConnection)
    return fmt::format("was lost: ssh to {} ended with exit code {}", host_, kNoConnection);
  return fmt::format("ended with exit code {}", WEXITSTATUS(status_));
}

void Child::send(int signal) {
  if (!running_) return;
  const char* name = host_.empty() ? nullptr : name_of(signal);
  if (name == nullptr || !signals_) {
    if (host_.empty() || signal == SIGKILL) ::kill(process_, signal);
    return;
  }
  // Where nobody reads any more, the process ends by itself.
  static_cast<void>(::send(signals_.get(), name, std::strlen(name), MSG_NOSIGNAL | MSG_DONTWAIT));
  if (signal == SIGKILL) signals_ = Fd();
}

}  // namespace kimesh::cli
