#include "kimesh/config/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kimesh/config/complaints.h"

namespace kimesh {
namespace {

std::string sentence(const std::string& text) {
  return text.empty() || text.back() == '.' ? text : text + '.';
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string place = problem.file;
  if (problem.line > 0) place += fmt::format(":{}", problem.line);
  std::string text = fmt::format("{}: {}", place, sentence(problem.message));
  if (!problem.remedy.empty()) text += ' ' + sentence(problem.remedy);
  return text;
}

std::vector<Problem> Complaints::take() {
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  const auto same = [](const Problem& a, const Problem& b) {
    return a.file == b.file && a.line == b.line && a.message == b.message;
  };
  problems_.erase(std::unique(problems_.begin(), problems_.end(), same), problems_.end());
  return std::move(problems_);
}

}  // namespace kimesh
