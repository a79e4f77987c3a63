#include "say.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "commands.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

int lost_because = 0;  // errno of the first failure to write to stdout

// A closed pipe or a terminal that was hung up.
bool reader_went_away(int why) {
  struct stat status {};
  const bool is_device = ::fstat(STDOUT_FILENO, &status) == 0 && S_ISCHR(status.st_mode);
  return why == EPIPE || (why == EIO && is_device);
}

bool flush_after(bool written) {
  if (written && std::fflush(stdout) == 0) return true;
  if (lost_because == 0) lost_because = errno;
  return false;
}

}  // namespace

void complain(const std::string& sentence) {
  const std::string line = "kimesh: " + sentence + "\n";
  static_cast<void>(std::fputs(line.c_str(), stderr));  // who else could be told?
}

void put(const std::string& text) {
  if (!flush_after(std::fputs(text.c_str(), stdout) >= 0)) want_stop();
}

int end_output(int code) {
  static_cast<void>(flush_after(true));
  if (lost_because == 0 || reader_went_away(lost_because)) return code;
  complain(fmt::format("the output cannot be written: {}", std::strerror(lost_because)));
  return code == kExitDone ? kExitFailed : code;
}

void say(const std::string& line) {
  put(line + "\n");
}

int exit_code(const Error& error) {
  return error.code == ErrorCode::kUserInput ? kExitUser : kExitFailed;
}

int fail(const Error& error) {
  complain(error.message);
  return exit_code(error);
}

}  // namespace kimesh::cli
