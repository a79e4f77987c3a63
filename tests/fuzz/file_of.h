// The input as a file, for decoders that read one.
#pragma once

#include <string>

#include "tests/fuzz/target.h"

namespace kimesh::fuzz {

// A folder of this process for the inputs of file decoders, in the system's temporary folder; gone
// at a normal end.
[[nodiscard]] const std::string& folder();

// Writes a file of that folder; its path.
std::string file_of(const std::string& name, Input input);

// A file of the repository, by its path there. Aborts where it is missing.
[[nodiscard]] Bytes shipped(const std::string& path);

[[nodiscard]] Bytes bytes_of(std::string_view text);

}  // namespace kimesh::fuzz
