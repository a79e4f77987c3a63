// A node process that `kimesh up` starts, here or through ssh on another machine. It is asked to
// end when `kimesh up` dies.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "kimesh/util/fd.h"
#include "kimesh/util/result.h"

namespace kimesh::cli {

// Files that get a process's output.
struct ChildOutput {
  std::string out, err;
};

// Destruction leaves the process running; the owner ends it.
class Child {
 public:
  // Starts this program with `arguments`, in a process group of its own, so that a Ctrl-C at the
  // terminal reaches only `kimesh up`. Stderr goes to the file `log`, stdout is dropped. Errors:
  // Io.
  [[nodiscard]] static Result<Child> start(const std::vector<std::string>& arguments,
                                           const std::string& log);
  // Starts `command`, whose first word is looked up in PATH, and which runs a node on the machine
  // `host`. The command reads names of signals for the node, a line each, takes the end of its
  // input for SIGHUP, and ends with the node's exit code, or 128 and the signal that killed it.
  // Both outputs are appended to files. Errors: Io.
  [[nodiscard]] static Result<Child> start_elsewhere(const std::vector<std::string>& command,
                                                     const std::string& host,
                                                     const ChildOutput& output);

  // Checks whether the process has ended. Never blocks.
  void update();
  // Waits until the process has ended.
  void wait();
  [[nodiscard]] bool running() const { return running_; }
  // Whether the process has ended with exit code 0.
  [[nodiscard]] bool succeeded() const { return !running_ && status_ == 0; }
  // "was killed by signal 9 (Killed)", "ended with exit code 1", or, for a node elsewhere, "was
  // lost: ..." where ssh failed before the node ended. Requires !running().
  [[nodiscard]] std::string how_it_ended() const;
  [[nodiscard]] bool was_killed() const;
  // Sends a signal, unless the process has ended. SIGKILL is the last signal that a node elsewhere
  // gets; a second SIGKILL kills the ssh process on this machine.
  void send(int signal);

 private:
  explicit Child(pid_t process) : process_(process) {}
  // The signal that killed it; 0: it was not killed.
  [[nodiscard]] int killer() const;
  pid_t process_;
  std::string host_;  // empty: it runs here
  Fd signals_;        // where their names are written for a node elsewhere
  bool running_ = true;
  int status_ = 0;  // as waitpid returns it
};

}  // namespace kimesh::cli
