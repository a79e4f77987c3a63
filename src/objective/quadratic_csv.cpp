// Reads a quadratic problem from a user's file: node,j,a,b.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <tuple>

#include "kimesh/config/problem.h"
#include "kimesh/objective/quadratic.h"
#include "kimesh/util/readable.h"
#include "shares.h"

namespace kimesh {
namespace {

constexpr std::uintmax_t kFileBytesMax = 256u << 20;  // some 6 million lines, half a GB in memory
constexpr std::size_t kComplaintsMax = 20;  // a file of the wrong kind has one on every line

struct Entry {
  std::size_t node, j;
  double a, b;
  int line;
};

class QuadraticCsv {
 public:
  QuadraticCsv(std::string path, std::size_t nodes) : path_(std::move(path)), nodes_(nodes) {}

  Result<QuadraticProblem> load(std::span<const double> weights) {
    read_lines();
    if (problems_.empty()) check_pairs();
    if (problems_.empty()) return assemble(weights);
    return Error{ErrorCode::kUserInput, complaints()};
  }

 private:
  void complain(int line, std::string message, std::string remedy) {
    problems_.push_back({path_, line, std::move(message), std::move(remedy)});
  }

  std::string complaints() const {
    const std::size_t shown = std::min(problems_.size(), kComplaintsMax);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : "\n", to_string(problems_[i]));
    if (shown < problems_.size())
      text += fmt::format("\n{}: and {} more lines like these.", path_, problems_.size() - shown);
    return text;
  }

  void read_lines() {
    std::error_code trouble;
    const auto why = why_unreadable(path_);
    const std::uintmax_t bytes = std::filesystem::file_size(path_, trouble);
    if (why || trouble)
      return complain(0,
                      fmt::format("the file cannot be read ({})", why.value_or(trouble.message())),
                      "Name a file of lines node,j,a,b");
    if (bytes > kFileBytesMax)
      return complain(0,
                      fmt::format("the file has {} bytes, more than the {} that are read", bytes,
                                  kFileBytesMax),
                      "Name a file of lines node,j,a,b for a smaller problem");
    std::ifstream file(path_);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
      read_line(trimmed(line), number);
    }
    if (!file.eof())
      complain(0, fmt::format("the file cannot be read to its end ({})", std::strerror(errno)),
               "Check the disk that it is on");
    if (entries_.empty() && problems_.empty())
      complain(0, "the file holds no values", "Write lines node,j,a,b, such as 0,0,1.5,-2");
  }

  void read_line(std::string_view line, int number) {
    if (line.empty() || line.front() == '#') return;
    const bool first = std::exchange(at_first_, false);
    const std::optional<std::array<std::string_view, 4>> fields = split(line);
    if (first && fields == std::array<std::string_view, 4>{"node", "j", "a", "b"}) return;
    const auto node = fields ? parse<std::size_t>((*fields)[0]) : std::nullopt;
    const auto j = fields ? parse<std::size_t>((*fields)[1]) : std::nullopt;
    const auto a = fields ? parse<double>((*fields)[2]) : std::nullopt;
    const auto b = fields ? parse<double>((*fields)[3]) : std::nullopt;
    if (!node || !j || !a || !b)
      return complain(number, "this is not node,j,a,b", "Write four numbers, such as 0,0,1.5,-2");
    if (*node >= nodes_)
      return complain(number, fmt::format("there is no node {}", *node),
                      fmt::format("Nodes count from 0 to {}", nodes_ - 1));
    // The nodes see the values as float32: what is lost there counts as wrong here.
    if (!(static_cast<float>(*a) > 0) || !std::isfinite(static_cast<float>(*a)))
      return complain(number, fmt::format("a is {}, which is no curvature in float32", *a),
                      "Write a number above 0, such as 1.5");
    if (!std::isfinite(static_cast<float>(*b)))
      return complain(number, fmt::format("b is {}, which float32 cannot hold", *b),
                      "Write a number such as -2");
    entries_.push_back({*node, *j, *a, *b, number});
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  }

  static std::optional<std::array<std::string_view, 4>> split(std::string_view line) {
    if (std::ranges::count(line, ',') != 3) return std::nullopt;
    std::array<std::string_view, 4> fields;
    for (std::string_view& field : fields) {
      const std::size_t comma = std::min(line.find(','), line.size());
      field = trimmed(line.substr(0, comma));
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
    return fields;
  }

  template <typename T>
  static std::optional<T> parse(std::string_view text) {
    T value{};
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (trouble != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  // Every node must have every j once. Sorting finds gaps without a table that a large j could blow
  // up.
  void check_pairs() {
    std::ranges::sort(entries_, {}, [](const Entry& e) { return std::tuple(e.node, e.j, e.line); });
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      const Entry &before = entries_[i - 1], &entry = entries_[i];
      if (entry.node == before.node && entry.j == before.j)
        complain(
            entry.line,
            fmt::format("node {} has j = {} in line {} already", entry.node, entry.j, before.line),
            "Leave one of them");
    }
    if (!problems_.empty()) return;
    const std::size_t largest = std::ranges::max_element(entries_, {}, &Entry::j)->j;
    std::size_t node = 0, j = 0;
    for (const Entry& entry : entries_) {
      if (entry.node != node || entry.j != j) break;
      if (j++ == largest) ++node, j = 0;
    }
    if (node < nodes_)
      complain(0, fmt::format("there is no line for node {}, j = {}", node, j),
               fmt::format("Write one for every node from 0 to {} and every j from 0 to {}",
                           nodes_ - 1, largest));
  }

  QuadraticProblem assemble(std::span<const double> weights) const {
    QuadraticProblem problem;
    problem.dimension = entries_.size() / nodes_;
    problem.weights = shares(weights, nodes_);
    problem.a.resize(nodes_);
    problem.b.resize(nodes_);
    for (const Entry& entry : entries_) {
      problem.a[entry.node].push_back(entry.a);
      problem.b[entry.node].push_back(entry.b);
    }
    return problem;
  }

  std::string path_;
  std::size_t nodes_;
  bool at_first_ = true;
  std::vector<Entry> entries_;
  std::vector<Problem> problems_;
};

}  // namespace

Result<QuadraticProblem> load_quadratic(const std::string& path, std::size_t nodes,
                                        std::span<const double> weights) {
  return QuadraticCsv(path, nodes).load(weights);
}

}  // namespace kimesh
