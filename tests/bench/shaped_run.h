// Whole runs of the program for benchmarks: its nodes on cables that the kernel shapes, and what
// their files say afterwards.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/topology/topology_file.h"
#include "tests/netns/netns.h"

namespace kimesh::bench {

using LinkName = std::pair<std::string, std::string>;

// What a run's files say, from round `first` on; the confirmation round at its end is left out.
struct RunTimes {
  double round_s = 0;    // mean, without evaluation
  double compute_s = 0;  // mean of the nodes' slowest gradients of each round
  struct Bytes {
    double message = 0, frame = 0, tcp = 0, retransmitted = 0;
  };
  std::map<LinkName, Bytes> bytes;  // of the whole run
};

inline std::vector<nlohmann::json> records(const std::filesystem::path& file) {
  std::vector<nlohmann::json> all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

inline RunTimes read_run(const std::filesystem::path& folder, const TopologyFile& topology,
                         Round first) {
  RunTimes times;
  std::map<Round, double> slowest;
  double sum = 0, rounds = 0;
  for (const NodeSpec& node : topology.nodes)
    for (const auto& record : records(folder / "nodes" / (node.name + ".jsonl"))) {
      if (record.contains("counters"))
        for (const auto& c : record["counters"])
          times.bytes[{node.name, c["to"]}] = {c["message_bytes"], c["frame_bytes"],
                                               c["tcp_bytes_sent"], c["tcp_bytes_retransmitted"]};
      if (record["event"] != "round" || record.value("poll", false)) continue;
      const Round round = record["round"];
      if (round < first) continue;
      sum += record["round_s"].get<double>() - record["evaluate_max_s"].get<double>();
      ++rounds;
      slowest[round] = std::max(slowest[round], record["compute_s"].get<double>());
    }
  if (rounds == 0) return times;
  times.round_s = sum / rounds;
  for (const auto& [round, seconds] : slowest)
    times.compute_s += seconds / static_cast<double>(slowest.size());
  return times;
}

inline bool finished(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The same nodes at `address(i)`, and for each link the rate that `rate` gives: 0 for none.
template <typename Address, typename Rate>
std::string topology_text(const TopologyFile& topology, Address address, Rate rate) {
  std::string text = fmt::format("kind: {}\nsecurity: none\nnodes:\n", topology.kind->kind_name());
  const auto count = static_cast<NodeIndex>(topology.nodes.size());
  for (NodeIndex i = 0; i < count; ++i)
    text += fmt::format("  {}: {{address: \"tcp://{}\"}}\n", topology.nodes[i].name, address(i));
  std::string links;
  for (NodeIndex i = 0; i < count; ++i)
    for (NodeIndex j = 0; j < count; ++j)
      if (i != j && topology.kind->carries(topology, i, j) && rate(i, j) > 0)
        links += fmt::format("  {}->{}: {{rate: {:.0f}bit}}\n", topology.nodes[i].name,
                             topology.nodes[j].name, rate(i, j));
  return links.empty() ? text : text + "links:\n" + links;
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// Runs a program here, its output in a file of this folder. True: it ended well.
inline bool run_here(const std::string& command, const std::string& log) {
  return std::system((command + " > " + log + " 2>&1").c_str()) == 0;
}

// A node in each namespace, all in the run folder `folder`.
inline bool run_in(const test::ShapedMesh& mesh, const TopologyFile& topology,
                   const std::string& config, const std::string& topology_path,
                   const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::vector<pid_t> children;
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) {
    const std::string& name = topology.nodes[i].name;
    children.push_back(
        mesh.at(i).spawn({KIMESH_BINARY, "node", "--config", config, "--topology", topology_path,
                          "--name", name, "--run-folder", folder, "--threads", "1"},
                         folder + "/" + name + ".log"));
  }
  bool good = true;
  for (const pid_t child : children) good = finished(child) && good;
  return good;
}

}  // namespace kimesh::bench
