#include "say.h"

#include <cstdio>

#include "commands.h"
#include "signals.h"

namespace kimesh::cli {

void complain(const std::string& sentence) {
  const std::string line = "kimesh: " + sentence + "\n";
  static_cast<void>(std::fputs(line.c_str(), stderr));  // who else could be told?
}

void put(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) want_stop();
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
