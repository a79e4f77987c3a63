#include "src/cli/say.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "src/cli/commands.h"

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

std::string date_and_time() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace kimesh::cli
