// Output for people.
#pragma once

#include <string>

#include "kimesh/util/result.h"

namespace kimesh::cli {

// Prints "kimesh: SENTENCE" on stderr.
void complain(const std::string& sentence);
// Prints a line on stdout and flushes.
void say(const std::string& line);
// The same without a line feed. Where stdout is gone, a command that runs long is to stop
// (signals.h); nothing is thrown.
void put(const std::string& text);
// Flushes stdout at the end of the process and returns its exit code: `code`, or 1 where that was
// 0 and some of the output is lost, as on a full disk, which is told. A reader who went away wants
// no more.
[[nodiscard]] int end_output(int code);
// The exit code of an error: 2 for the user's input, 1 for all else.
[[nodiscard]] int exit_code(const Error& error);
// Prints the error and returns its exit code.
[[nodiscard]] int fail(const Error& error);

}  // namespace kimesh::cli
