#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
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

// Runs between fork and exec, with async-signal-safe calls only.
[[noreturn]] void exec_child(const char* program, char* const* arguments, int out, int err,
                             pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kExitFailed);  // the parent has died before
  // A request to stop waits until the node hears it (stop_on_signals).
  const sigset_t later = stop_signals();
  ::sigprocmask(SIG_SETMASK, &later, nullptr);
  ::signal(SIGUSR1, SIG_IGN);  // until the node can answer it, it asks for nothing
  const int in = ::open("/dev/null", O_RDONLY);
  if (in >= 0 && ::dup2(in, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 &&
      ::dup2(err, STDERR_FILENO) >= 0)
    ::execv(program, arguments);
  ::_exit(kExitFailed);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<std::string> words{"kimesh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const int err = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int out = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t parent = ::getpid();
  const char* program = this_program();
  const pid_t process = err < 0 || out < 0 ? -1 : ::fork();
  const int why = errno;
  if (process == 0) exec_child(program, pointers.data(), out, err, parent);
  if (err >= 0) ::close(err);
  if (out >= 0) ::close(out);
  if (process < 0)
    return Error{ErrorCode::kIo, fmt::format("a node with its log {} cannot be started: {}", log,
                                             std::strerror(why))};
  ::setpgid(process, process);  // in both processes, since either may be first
  return Child(process);
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

bool Child::was_killed() const {
  return !running_ && WIFSIGNALED(status_);
}

std::string Child::how_it_ended() const {
  if (was_killed())
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status_),
                       ::strsignal(WTERMSIG(status_)));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status_));
}

void Child::send(int signal) {
  if (running_) ::kill(process_, signal);
}

}  // namespace kimesh::cli
