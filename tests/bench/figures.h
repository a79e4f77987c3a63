// What every program here prints and writes: figures with their units and single runs, and the
// machine that made them.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace kimesh::bench {

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// "Intel(R) Xeon(R) Processor, 2 cores": what a figure belongs to.
inline std::string machine() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line, model = "unknown processor";
  unsigned cores = 0;
  while (std::getline(cpus, line)) {
    if (line.starts_with("processor")) ++cores;
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  return fmt::format("{}, {} cores", model, cores);
}

// The most memory that this process has held so far.
inline double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

// What this process has taken of the machine's cores, its system calls included.
inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The value is the median of the runs.
class Figures {
 public:
  void add(const std::string& name, const std::string& unit, const std::vector<double>& runs) {
    const double value = median(runs);
    fmt::print("  {:<52} {:>12.4g} {}\n", name, value, unit);
    std::fflush(stdout);
    all_.push_back({{"name", name}, {"value", value}, {"unit", unit}, {"runs", runs}});
  }

  // False: the file could not be written. Nothing to write is no failure.
  [[nodiscard]] bool write(const std::string& path) const {
    if (path.empty()) return true;
    std::ofstream out(path);
    out << nlohmann::json{{"machine", machine()}, {"figures", all_}}.dump(2) << "\n";
    return static_cast<bool>(out.flush());
  }

 private:
  nlohmann::json all_ = nlohmann::json::array();
};

// The words of a list, "a,b".
inline std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

}  // namespace kimesh::bench
