// A node process that `kimesh up` starts. The system ends it when `kimesh up` dies.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh::cli {

// Destruction leaves the process running; the owner ends it.
class Child {
 public:
  // Starts this program with `arguments`, in a process group of its own, so that a Ctrl-C at the
  // terminal reaches only `kimesh up`. Stderr goes to the file `log`, stdout is dropped. Errors:
  // Io.
  [[nodiscard]] static Result<Child> start(const std::vector<std::string>& arguments,
                                           const std::string& log);

  // Checks whether the process has ended. Never blocks.
  void update();
  // Waits until the process has ended.
  void wait();
  [[nodiscard]] bool running() const { return running_; }
  // Whether the process has ended with exit code 0.
  [[nodiscard]] bool succeeded() const { return !running_ && status_ == 0; }
  // "was killed by signal 9 (Killed)" or "ended with exit code 1". Requires !running().
  [[nodiscard]] std::string how_it_ended() const;
  [[nodiscard]] bool was_killed() const;
  // Sends a signal, unless the process has ended.
  void send(int signal);

 private:
  explicit Child(pid_t process) : process_(process) {}
  pid_t process_;
  bool running_ = true;
  int status_ = 0;  // as waitpid returns it
};

}  // namespace kimesh::cli
