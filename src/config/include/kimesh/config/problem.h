// A problem of a user's file, with what the user can do about it.
#pragma once

#include <string>
#include <vector>

namespace kimesh {

struct Problem {
  std::string file;
  int line = 0;         // from 1; 0: the file as a whole
  std::string message;  // what is wrong, in one sentence
  std::string remedy;   // what to write instead
};

// "configs/a.yaml:3: unknown key 'lrr' in optimizer. Write one of: kind, lr, momentum."
[[nodiscard]] std::string to_string(const Problem& problem);

// A value that was read from a file, with every problem of the file.
template <typename T>
struct Loaded {
  T value{};  // meaningful only when `problems` is empty
  std::vector<Problem> problems;
  [[nodiscard]] bool ok() const { return problems.empty(); }
};

}  // namespace kimesh
