// What is wrong with a user's file, said so that they can mend it.
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

// Every problem of a file is found, not only the first one.
template <typename T>
struct Loaded {
  T value{};  // meaningful only when `problems` is empty
  std::vector<Problem> problems;
  [[nodiscard]] bool ok() const { return problems.empty(); }
};

}  // namespace kimesh
