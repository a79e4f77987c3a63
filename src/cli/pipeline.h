// Programs whose output is the next one's input, as `a | b` of a shell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh::cli {

using Command = std::vector<std::string>;  // a program and its arguments; PATH is searched

// Runs them and waits for the end of all; what the last one prints, up to kPipelineOutputMax bytes.
// `passed` hears, every now and then, how many bytes the first one has given to the second: null:
// nobody asks. Errors: Io, where one cannot be started or does not end with 0: its last words.
// Thread: any; several may run at once.
inline constexpr std::size_t kPipelineOutputMax = 1 << 20;
[[nodiscard]] Result<std::string> run_pipeline(
    const std::vector<Command>& commands,
    const std::function<void(std::uint64_t)>& passed = nullptr);

}  // namespace kimesh::cli
