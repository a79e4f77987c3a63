// Node processes that `kimesh up` starts. They never outlive it: the system ends them when it dies.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh::cli {

// Leaves what it holds running: whoever starts a child sees to its end.
class Child {
 public:
  // This program again, with `arguments`, in a process group of its own (a Ctrl-C at the terminal
  // is ours to pass on). Stderr goes to the file `log`, stdout nowhere. Errors: Io.
  [[nodiscard]] static Result<Child> start(const std::vector<std::string>& arguments,
                                           const std::string& log);

  // Looks whether it has ended. Never blocks.
  void update();
  // Waits for its end.
  void wait();
  [[nodiscard]] bool running() const { return running_; }
  // True once it has ended with exit code 0.
  [[nodiscard]] bool succeeded() const { return !running_ && status_ == 0; }
  // "was killed by signal 9 (Killed)" or "ended with exit code 1". Requires !running().
  [[nodiscard]] std::string how_it_ended() const;
  [[nodiscard]] bool was_killed() const;
  // Nothing happens when it has ended.
  void send(int signal);

 private:
  explicit Child(pid_t process) : process_(process) {}
  pid_t process_;
  bool running_ = true;
  int status_ = 0;  // of waitpid
};

}  // namespace kimesh::cli
