#include "say.h"

#include <fmt/format.h>

#include <cstdio>

#include "commands.h"

namespace kimesh::cli {

void complain(const std::string& sentence) {
  fmt::print(stderr, "kimesh: {}\n", sentence);
}

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int exit_code(const Error& error) {
  return error.code == ErrorCode::kUserInput ? kExitUser : kExitFailed;
}

int fail(const Error& error) {
  complain(error.message);
  return exit_code(error);
}

}  // namespace kimesh::cli
