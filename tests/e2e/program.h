// The program itself in tests: started as a user starts it, in a folder of its own, on loopback
// addresses of its own, and watched to its end.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/own_host.h"

namespace kimesh::test {

// Trains until somebody ends it; small, and calm thanks to the delay of its links.
inline constexpr const char* kEndlessConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 8}
optimizer: {kind: sgd, lr: 0.01}
compression: {policy: fixed, compressor: topk, ratio: 0.05}
stop: {rounds: 1000000}
threads: 1
)";

// Only hangs are as long as this: the machine may be slow and shared.
inline constexpr std::chrono::seconds kPatience{100};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The section `nodes` of a topology whose nodes listen at own_host(), from port 7101 on.
inline std::string nodes_at_own_host(const std::vector<std::string>& names) {
  std::string nodes = "nodes:\n";
  int port = 7101;
  for (const std::string& name : names)
    nodes +=
        "  " + name + ": {address: \"tcp://" + own_host() + ":" + std::to_string(port++) + "\"}\n";
  return nodes;
}

// A folder that is gone at the end, with the shipped files in it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "kimesh-e2e-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = name;
    for (const char* shipped : {"configs", "topologies"})
      std::filesystem::create_symlink(std::string(KIMESH_SOURCE_DIR "/") + shipped,
                                      path_ + "/" + shipped);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string run_file(const std::string& run, const std::string& file) const {
    return path_ + "/runs/" + run + "/" + file;
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return name;
  }
  // A copy of a shipped topology on this process's own address, with the traces that it may name;
  // `extra` goes to its end.
  std::string topology(const std::string& name, const std::string& extra = "") const {
    const std::string text = read_text(KIMESH_SOURCE_DIR "/topologies/" + name + ".yaml");
    std::filesystem::copy(KIMESH_SOURCE_DIR "/topologies/traces", path_ + "/traces",
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
    return write(name + ".yaml",
                 std::regex_replace(text, std::regex("127\\.0\\.0\\.1"), own_host()) + extra);
  }
  [[nodiscard]] nlohmann::json summary(const std::string& run) const {
    return nlohmann::json::parse(read_text(run_file(run, "summary.json")), nullptr, false);
  }

 private:
  std::string path_;
};

struct Ended {
  int code = -1;  // -1: killed by a signal, or still running when patience was over
  std::string out, err;
};

// Requires that the caller looks with all_gone() whether anything is left.
class Program {
 public:
  // `prepare` runs in the new process before the program does; false: it does not run, code 77.
  Program(const Scratch& scratch, const std::vector<std::string>& arguments,
          const std::function<bool()>& prepare = nullptr) {
    std::vector<std::string> words{"kimesh"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    // Orphans come to us, and their ends are told by a signal that is waited for.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const sigset_t child = child_ended();
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    process_ = ::fork();
    if (process_ == 0) become(scratch.path(), pointers.data(), out[1], err[1], prepare);
    ::close(out[1]);
    ::close(err[1]);
    pipes_[0] = out[0];
    pipes_[1] = err[0];
  }
  ~Program() {
    if (!waited_) {
      ::kill(process_, SIGKILL);
      wait();
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  void signal(int number) const { ::kill(process_, number); }

  [[nodiscard]] bool running() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }

  // Waits until it has said `text`. False: it ended without.
  bool says(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (said_[0].find(text) == std::string::npos && said_[1].find(text) == std::string::npos)
      if (!hear(deadline)) return false;
    return true;
  }

  Ended wait() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (hear(deadline)) {
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      ADD_FAILURE() << "it runs for ever; so far it said:\n" << said_[0] << said_[1];
      signal(SIGKILL);
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    waited_ = true;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, said_[0], said_[1]};
  }

  // True: none of the processes that ever came of this test is left. Waits for those that are just
  // ending.
  static bool all_gone() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    const sigset_t child = child_ended();
    for (;;) {
      const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
      if (ended < 0) return errno == ECHILD;
      if (ended > 0) continue;
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) return false;
      const timespec pause{std::chrono::duration_cast<std::chrono::seconds>(left).count(), 0};
      ::sigtimedwait(&child, nullptr, &pause);
    }
  }

 private:
  static sigset_t child_ended() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    return set;
  }

  [[noreturn]] static void become(const std::string& folder, char* const* arguments, int out,
                                  int err, const std::function<bool()>& prepare) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    constexpr int kNotPrepared = 77;
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    if (::chdir(folder.c_str()) != 0 || (prepare && !prepare())) ::_exit(kNotPrepared);
    ::execv(KIMESH_BINARY, arguments);
    ::_exit(127);
  }

  // More of what it says. False: it has ended, or the deadline has come.
  bool hear(std::chrono::steady_clock::time_point deadline) {
    pollfd ready[2] = {{pipes_[0], POLLIN, 0}, {pipes_[1], POLLIN, 0}};
    if (pipes_[0] < 0 && pipes_[1] < 0) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    ::poll(ready, 2, static_cast<int>(left.count()));
    for (int i = 0; i < 2; ++i) {
      if (ready[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t size = ::read(pipes_[i], bytes, sizeof bytes);
      if (size > 0) {
        said_[i].append(bytes, static_cast<std::size_t>(size));
      } else {
        ::close(pipes_[i]);
        pipes_[i] = -1;
      }
    }
    return true;
  }

  pid_t process_ = -1;
  bool waited_ = false;
  int pipes_[2] = {-1, -1};  // its stdout and stderr
  std::string said_[2];
};

inline Ended run_program(const Scratch& scratch, const std::vector<std::string>& arguments) {
  return Program(scratch, arguments).wait();
}

// The process of node `name` that `up` has started; 0: there is none.
inline pid_t find_node_process(pid_t up, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string status = read_text(entry.path().string() + "/status");
    if (status.find("\nPPid:\t" + std::to_string(up) + "\n") == std::string::npos) continue;
    const std::string words = read_text(entry.path().string() + "/cmdline");
    const std::string wanted = std::string("--name") + '\0' + name + '\0';
    if (words.find(wanted) != std::string::npos)
      return static_cast<pid_t>(std::stol(entry.path().filename().string()));
  }
  return 0;
}

// Lines that hold something, of what was said to a person.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace kimesh::test
