// Where a command's files go: refused before any work where they could not be written, or where
// they would be written over what is still needed.
#pragma once

#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh::cli {

struct Output {
  const char* option;
  std::string path;                   // empty: there is none
  std::vector<std::string> inputs{};  // files that the command reads; empty ones are none
  std::vector<std::string> runs{};    // folders of runs, whose own files stay; empty ones are none
  std::string new_run{};              // name of the run whose folder the command makes, or empty
  // How the name ends of a file with something in it that may be written over; empty: anyhow.
  std::string ending{};
};

// Refuses a file that could not be written after a long run: its folder is missing or may not be
// written to, or there is a folder or a device of that name. Refuses to write over an input, a
// run's own file, or a file of another kind. The folder of the new run may still be missing.
// Errors: UserInput.
[[nodiscard]] Status check_output(const Output& output);

// The same for a folder, which is made where it is missing.
[[nodiscard]] Status check_output_folder(const std::string& option, const std::string& path);

// Whether `path` is one of these files, by whatever name.
[[nodiscard]] bool is_one_of(const std::string& path, const std::vector<std::string>& files);

}  // namespace kimesh::cli
