#include "pipeline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <span>

#include "kimesh/util/fd.h"

extern char** environ;

namespace kimesh::cli {
namespace {

constexpr off_t kWordsMax = 2000;  // bytes of a program's last words

Error cannot(const char* what) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(errno))};
}

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot("a pipe cannot be made");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Reads what comes, in pieces, until the far side has closed. Gives up where `take` returns false.
void read_all(int fd, const std::function<bool(std::span<const char>)>& take) {
  std::array<char, 1 << 16> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !take(std::span(piece).first(static_cast<std::size_t>(got)))) return;
  }
}

bool write_all(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

// While it lives, a write of this thread to a closed pipe fails, and does not end the process.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoBrokenPipes() {
    const timespec now{};
    while (::sigtimedwait(&set_, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;

 private:
  sigset_t set_, before_;
};

class Running {
 public:
  // Errors: Io.
  static Result<Running> start(const Command& command, int in, int out) {
    Running running(command.front());
    running.words_ = Fd(::memfd_create("words", MFD_CLOEXEC));
    if (!running.words_) return cannot("memory for a program's words cannot be had");
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, running.words_.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none, usual;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    std::vector<char*> pointers;
    for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    const int failed = ::posix_spawnp(&running.process_, pointers.front(), &files, &attributes,
                                      pointers.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed == 0) return running;
    return Error{ErrorCode::kIo, fmt::format("{} cannot be started: {}. Is it installed?",
                                             command.front(), std::strerror(failed))};
  }

  // Waits for the end. Returns why the program failed; nothing: it exited with 0. `was_cut`: its
  // reader ended first.
  std::optional<std::string> wait(bool& was_cut) {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    const off_t size = ::lseek(words_.get(), 0, SEEK_END);
    ::lseek(words_.get(), std::max<off_t>(size - kWordsMax, 0), SEEK_SET);
    std::string words;
    read_all(words_.get(), [&](std::span<const char> piece) {
      words.append(piece.data(), piece.size());
      return true;
    });
    was_cut = WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE;
    if (status == 0) return std::nullopt;
    while (words.ends_with('\n') || words.ends_with('\r')) words.pop_back();
    const std::string how = WIFEXITED(status) ? fmt::format("code {}", WEXITSTATUS(status))
                                              : fmt::format("signal {}", WTERMSIG(status));
    return fmt::format("{} ended with {}{}{}", name_, how, words.empty() ? "" : ": ", words);
  }

 private:
  explicit Running(std::string name) : name_(std::move(name)) {}
  std::string name_;
  pid_t process_ = -1;
  Fd words_;
};

void pump(int from, int to, const std::function<void(std::uint64_t)>& passed) {
  const NoBrokenPipes guard;
  std::uint64_t bytes = 0;
  read_all(from, [&](std::span<const char> piece) {
    if (!write_all(to, piece)) return false;
    passed(bytes += piece.size());
    return true;
  });
}

// Waits for all. Returns why the first one failed that failed by itself, else why the first one was
// cut; nothing: all succeeded.
std::optional<std::string> wait_for_all(std::vector<Running>& all) {
  std::optional<std::string> why, cut;
  for (Running& one : all) {
    bool was_cut = false;
    const auto failed = one.wait(was_cut);
    if (failed && !was_cut && !why) why = failed;
    if (failed && was_cut && !cut) cut = failed;
  }
  return why ? why : cut;
}

}  // namespace

Result<std::string> run_pipeline(const std::vector<Command>& commands,
                                 const std::function<void(std::uint64_t)>& passed) {
  Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!in) return cannot("/dev/null cannot be opened");
  std::vector<Running> all;
  std::optional<Error> trouble;
  Fd pump_from, pump_to;
  for (std::size_t i = 0; i < commands.size() && !trouble; ++i) {
    auto out = make_pipe();
    auto running = out ? Running::start(commands[i], in.get(), out->write.get()) : out.error();
    if (running) all.push_back(std::move(*running));
    if (!running) trouble = running.error();
    in = out ? std::move(out->read) : Fd();
    if (!passed || i > 0 || commands.size() == 1 || trouble) continue;
    auto second = make_pipe();
    if (!second) trouble = second.error();
    pump_from = std::exchange(in, second ? std::move(second->read) : Fd());
    if (second) pump_to = std::move(second->write);
  }
  std::string output;
  if (pump_to && !trouble) pump(pump_from.get(), pump_to.get(), passed);
  pump_from = Fd();
  pump_to = Fd();
  if (!trouble)
    read_all(in.get(), [&](std::span<const char> piece) {
      output.append(piece.data(), std::min(piece.size(), kPipelineOutputMax - output.size()));
      return true;
    });
  in = Fd();
  const auto failed = wait_for_all(all);
  if (trouble) return *trouble;
  if (failed) return Error{ErrorCode::kIo, *failed};
  return output;
}

}  // namespace kimesh::cli
