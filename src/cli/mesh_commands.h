// The commands that run a mesh, try its links, or write the files that start it.
#pragma once

#include <string>
#include <vector>

#include "commands.h"

namespace CLI {
class App;
}

namespace kimesh::cli {

// Their options, which outlive the parsing of a command line.
struct MeshCommands {
  // `words` is the command line, for the records of runs.
  explicit MeshCommands(const std::vector<std::string>& words);
  // `code` gets the exit code of the command that is run.
  void add_to(CLI::App& app, int& code);

  RunOptions up;
  NodeOptions node;
  SimulateOptions simulate;
  DoctorCommand doctor;
  ExportOptions exported;
};

}  // namespace kimesh::cli
