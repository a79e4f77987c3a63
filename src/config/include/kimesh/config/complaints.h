// The list of problems that the readers of one file fill.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kimesh/config/problem.h"

namespace kimesh {

class Complaints {
 public:
  // `copied_from`: the file that this one is a copy of; empty: none.
  explicit Complaints(std::string file, std::string copied_from = {})
      : file_(std::move(file)), copied_from_(std::move(copied_from)) {}

  // `message`: what is wrong. `remedy`: what to write instead. Neither ends with a full stop.
  void add(int line, std::string message, std::string remedy) {
    problems_.push_back({file_, line, std::move(message), std::move(remedy)});
  }
  // Adds the problems of another file that this one names, such as a trace.
  void add(std::vector<Problem> problems) {
    problems_.insert(problems_.end(), problems.begin(), problems.end());
  }

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& copied_from() const { return copied_from_; }
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  // Removes and returns the problems, in the order of their lines, each once.
  [[nodiscard]] std::vector<Problem> take();

 private:
  std::string file_, copied_from_;
  std::vector<Problem> problems_;
};

}  // namespace kimesh
