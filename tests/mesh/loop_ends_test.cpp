// How a mesh ends whose loops are of the program's own: on one thread, which answers each node in
// turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/loop_node.h"

namespace kimesh::loop_ends_test {
namespace {

using ::testing::HasSubstr;

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/mesh/";
constexpr Duration kTick = std::chrono::milliseconds(1);

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("loop_ends_" + name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

MeshFiles files_on_free_ports() {
  auto files = load_mesh_files(kFolder + "loop.yaml", kFolder + "ring.yaml");
  for (const auto& problem : files.problems) ADD_FAILURE() << to_string(problem);
  const std::vector<int> ports = *free_ports(files.value.topology.nodes.size());
  for (std::size_t i = 0; i < ports.size(); ++i)
    files.value.topology.nodes[i].address = "tcp://127.0.0.1:" + std::to_string(ports[i]);
  return std::move(files.value);
}

Result<std::unique_ptr<LoopNode>> node_of(const MeshFiles& files, NodeIndex self,
                                          const std::string& folder,
                                          Layout layout = Layout::vector(9)) {
  LoopNodeOptions options;
  options.node = files.topology.nodes[self].name;
  options.layout = std::move(layout);
  options.evaluates = true;
  options.folder = folder;
  return LoopNode::make(files, std::move(options));
}

using Nodes = std::vector<std::unique_ptr<LoopNode>>;

Nodes nodes_of(const MeshFiles& files, const std::string& folder) {
  Nodes nodes;
  for (NodeIndex i = 0; i < files.topology.nodes.size(); ++i) {
    auto node = node_of(files, i, folder);
    if (!node) ADD_FAILURE() << node.error().message;
    nodes.push_back(std::move(node.value()));
  }
  return nodes;
}

// Takes part until all have ended; `score` answers the evaluations.
void run(const Nodes& nodes, const std::function<void(LoopNode&)>& score) {
  std::size_t ended = 0;
  while (ended < nodes.size()) {
    ended = 0;
    for (const auto& node : nodes) {
      const LoopWish wish = node->wait(kTick);
      static_cast<void>(node->take_events());
      if (wish == LoopWish::kGradient) node->give(GradientNumbers{1, 1});
      if (wish == LoopWish::kEvaluation) score(*node);
      if (wish == LoopWish::kEnd) ++ended;
    }
  }
}

// Seen to fail: the run was done, and that node had no sample in the accuracy.
TEST(LoopEnds, AnEvaluationThatFailsEndsTheRunOfAllEvenWhereItIsTheLastOne) {
  MeshFiles files = files_on_free_ports();
  files.config.stop.rounds = 3;
  const Nodes nodes = nodes_of(files, fresh_folder("evaluation"));
  run(nodes, [](LoopNode& node) {
    if (node.self() == 1 && node.round() + 1 >= 3)
      node.give(Error{ErrorCode::kUserInput, "the loop ended: no test set"});
    else
      node.give(EvaluationNumbers{1, 2, 3});
  });
  for (const auto& node : nodes) {
    ASSERT_TRUE(node->end().ok()) << node->end().error().message;
    EXPECT_EQ(node->end()->node.outcome, Outcome::kFailed);
    EXPECT_THAT(node->end()->node.text, HasSubstr("node b, round "));
    EXPECT_THAT(node->end()->node.text, HasSubstr(": the loop ended: no test set"));
  }
}

// The other nodes never start. Seen to fail: the node gave up after start_timeout, and said so.
TEST(LoopEnds, ALoopThatFailsWhileItsNodeWaitsForOthersEndsIt) {
  MeshFiles files = files_on_free_ports();
  files.topology.start_timeout = std::chrono::seconds(5);
  auto node = node_of(files, 0, fresh_folder("waits"));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ((*node)->wait(Duration(0)), LoopWish::kNothing);
  (*node)->give(Error{ErrorCode::kUserInput, "the loop ended: no more data"});
  while ((*node)->wait(kTick) != LoopWish::kEnd) static_cast<void>((*node)->take_events());
  ASSERT_TRUE((*node)->end().ok()) << (*node)->end().error().message;
  EXPECT_EQ((*node)->end()->node.outcome, Outcome::kFailed);
  EXPECT_EQ((*node)->end()->node.text, "node a: the loop ended: no more data");
}

// Seen to fail: the program was aborted.
TEST(LoopEnds, ParametersWithoutAValueAreRefusedByName) {
  const MeshFiles files = files_on_free_ports();
  const Layout layout{{{"w", {4}, 0, 4}, {"e", {0, 3}, 4, 0}, {"f", {3, 0}, 4, 0}}};
  const auto node = node_of(files, 0, fresh_folder("empty"), layout);
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(node.error().code, ErrorCode::kUserInput);
  EXPECT_EQ(node.error().message,
            "layer 'e' has shape [0, 3], and so no value: leave it out.\n"
            "layer 'f' has shape [3, 0], and so no value: leave it out.");
  const auto none = node_of(files, 0, fresh_folder("none"), Layout{});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(none.error().message, HasSubstr("there are no parameters to train"));
}

// Puts the process back where it was.
class Directory {
 public:
  Directory() : before_(std::filesystem::current_path()) {}
  ~Directory() { std::filesystem::current_path(before_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

 private:
  const std::filesystem::path before_;
};

// Seen to fail: the records of the nodes were in another folder than run.json.
TEST(LoopEnds, ARunStaysInItsFolderWhereTheProgramChangesItsDirectory) {
  const Directory back;
  const std::string here = fresh_folder("here"), there = fresh_folder("there");
  MeshFiles files = files_on_free_ports();
  files.config.stop.rounds = 1;
  std::filesystem::current_path(here);
  const Nodes nodes = nodes_of(files, "");
  std::filesystem::current_path(there);
  run(nodes, [](LoopNode& node) { node.give(EvaluationNumbers{1, 2, 3}); });
  EXPECT_TRUE(std::filesystem::is_empty(there));
  for (const auto& node : nodes) {
    ASSERT_TRUE(node->end().ok()) << node->end().error().message;
    const std::filesystem::path folder = node->folder().path();
    EXPECT_EQ(folder.parent_path(), std::filesystem::path(here) / "runs");
    EXPECT_TRUE(std::filesystem::exists(folder / "run.json"));
    EXPECT_FALSE(std::filesystem::is_empty(folder / "nodes"));
  }
}

}  // namespace
}  // namespace kimesh::loop_ends_test
