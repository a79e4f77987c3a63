// What goes to people.
#pragma once

#include <string>

#include "kimesh/util/result.h"

namespace kimesh::cli {

// "kimesh: SENTENCE" on stderr.
void complain(const std::string& sentence);
// A line on stdout, there at once.
void say(const std::string& line);
// The exit code that fits: 2 for the user's input, 1 for all else.
[[nodiscard]] int exit_code(const Error& error);
// Says it, and returns its exit code.
[[nodiscard]] int fail(const Error& error);

}  // namespace kimesh::cli
