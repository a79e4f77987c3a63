// A command line in a test: what it says, while it runs and at its end.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace kimesh::test {

// Only hangs are as long as this: the machine may be slow and shared.
inline constexpr std::chrono::seconds kCommandPatience{200};

class Command {
 public:
  // The first word is looked for in PATH; stdout and stderr are heard together.
  explicit Command(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    process_ = ::fork();
    if (process_ == 0) {
      sigset_t none;  // a shell that inherits a blocked SIGCHLD waits for ever
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::execvp(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  ~Command() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    if (pipe_ >= 0) ::close(pipe_);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  [[nodiscard]] const std::string& said() const { return said_; }
  [[nodiscard]] pid_t process() const { return process_; }
  void signal(int number) const { ::kill(process_, number); }

  // Waits until it says anything more. False: it ended without, or patience was over.
  bool says_more() { return hear(std::chrono::steady_clock::now() + kCommandPatience); }

  // Waits until it has said `text`. False: it ended without, or patience was over.
  bool says(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + kCommandPatience;
    while (said_.find(text) == std::string::npos)
      if (!hear(deadline)) return false;
    return true;
  }

  // Waits for its end; the exit code, -1 when a signal or our patience ended it.
  int wait() {
    const auto deadline = std::chrono::steady_clock::now() + kCommandPatience;
    while (hear(deadline)) {
    }
    if (std::chrono::steady_clock::now() >= deadline) ::kill(process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  // More of what it says. False: it has ended, or the deadline has come.
  bool hear(std::chrono::steady_clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{pipe_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    char bytes[4096];
    const ssize_t size = ::read(pipe_, bytes, sizeof bytes);
    if (size <= 0) return false;
    said_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

  pid_t process_ = -1;
  int pipe_ = -1;
  std::string said_;
};

struct CommandEnd {
  int code = -1;
  std::string said;
};

inline CommandEnd run_command(const std::vector<std::string>& words) {
  Command command(words);
  const int code = command.wait();
  return {code, command.said()};
}

}  // namespace kimesh::test
