// A folder of a test's own, and plans to write about.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

#include "kimesh/topology/plan.h"

namespace kimesh::test {

// Empty at first; gone with the test.
class Folder {
 public:
  Folder() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("kimesh_") + info->test_suite_name() + "_" + info->name() + "_" +
             std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
inline std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Nodes a, b, c ...; every node owns a shard.
inline TopologyFile topology_of(std::size_t nodes, const std::string& kind = "ring") {
  TopologyFile topology;
  topology.kind = topology_kinds().make(kind);
  topology.nodes.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i)
    topology.nodes[i].name = std::string(1, static_cast<char>('a' + i));
  topology.servers.resize(nodes);
  std::iota(topology.servers.begin(), topology.servers.end(), NodeIndex{0});
  return topology;
}

// Two layers, 5 x 4 and 3: two shards cut the first one within.
inline Layout small_layout() {
  Layout layout;
  layout.layers.push_back({"layers.0.weight", {5, 4}, 0, 20});
  layout.layers.push_back({"layers.0.bias", {3}, 20, 3});
  return layout;
}

inline Plan small_plan(std::size_t nodes = 2) {
  auto plan = make_plan(topology_of(nodes), small_layout());
  EXPECT_TRUE(plan.ok());
  return std::move(*plan);
}

}  // namespace kimesh::test
