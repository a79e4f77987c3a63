// Output for people.
#pragma once

#include <string>

#include "kimesh/util/result.h"

namespace kimesh::cli {

// Prints "kimesh: SENTENCE" on stderr.
void complain(const std::string& sentence);
// Prints a line on stdout and flushes.
void say(const std::string& line);
// The exit code of an error: 2 for the user's input, 1 for all else.
[[nodiscard]] int exit_code(const Error& error);
// Prints the error and returns its exit code.
[[nodiscard]] int fail(const Error& error);

}  // namespace kimesh::cli
