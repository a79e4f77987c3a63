// Programs whose output is the next one's input, as `a | b` of a shell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh::cli {

using Command = std::vector<std::string>;  // a program and its arguments; PATH is searched

// Runs the commands, waits for all of them, and returns what the last one prints, up to
// kPipelineOutputMax bytes. `passed`, which may be null, is called now and then with the number of
// bytes that the first command has given to the second. Errors: Io, with the last output of a
// command that cannot be started or does not exit with 0. Thread: any; several may run at once.
inline constexpr std::size_t kPipelineOutputMax = 1 << 20;
[[nodiscard]] Result<std::string> run_pipeline(
    const std::vector<Command>& commands,
    const std::function<void(std::uint64_t)>& passed = nullptr);

}  // namespace kimesh::cli
