// Nodes whose gradients come from loops of the program's own: a thread for each loop, and all that
// a live node has, which is what the thread sanitizer looks at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/loop_node.h"
#include "kimesh/objective/quadratic.h"

namespace kimesh::loop_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/mesh/";
constexpr Duration kTick = std::chrono::milliseconds(100);
constexpr NodeIndex kNodes = 3;

// The same problem as a quadratic of kimesh's, which a simulation may minimise, and by loops.
struct Task {
  QuadraticOptions options;
  QuadraticProblem quadratic;
  Layout layout = Layout::vector(0);
};

Task make_problem() {
  Task problem;
  problem.options.dimension = 40'000;  // three pieces of a first point
  problem.quadratic = make_quadratic(problem.options, kNodes, {}, 1);
  problem.layout = Layout::vector(problem.options.dimension);
  return problem;
}

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("loop_" + name);
  std::filesystem::remove_all(path);
  return path.string();
}

MeshFiles files_of(const std::string& config, const std::string& topology = "ring.yaml") {
  auto files = load_mesh_files(kFolder + config, kFolder + topology);
  for (const auto& problem : files.problems) ADD_FAILURE() << to_string(problem);
  return std::move(files.value);
}

MeshFiles on_free_ports(MeshFiles files) {
  const std::vector<int> ports = *free_ports(files.topology.nodes.size());
  for (std::size_t i = 0; i < ports.size(); ++i)
    files.topology.nodes[i].address = "tcp://127.0.0.1:" + std::to_string(ports[i]);
  return files;
}

// What a loop does besides: called with every gradient, before it is given.
using Look = std::function<void(LoopNode&, NodeIndex)>;

struct LoopRun {
  std::vector<std::vector<float>> models = std::vector<std::vector<float>>(kNodes);
  std::vector<Outcome> outcomes = std::vector<Outcome>(kNodes);
  std::vector<std::string> texts = std::vector<std::string>(kNodes);
  std::vector<std::uint64_t> first_batches = std::vector<std::uint64_t>(kNodes);
  std::vector<std::string> restored = std::vector<std::string>(kNodes);
  std::vector<int> zeroes = std::vector<int>(kNodes);  // gradients that began at zero
};

// Gives the gradient in the node's vector, or `as_parts`, in arrays of the loop's own, while the
// node's vector holds something else. Seen to fail without the copy, and with parts that are not
// checked for NaN.
void give(LoopNode& node, const GradientNumbers& numbers, bool as_parts) {
  if (!as_parts) return node.give(numbers);
  const auto vector = node.vectors()->gradient.span();
  const std::vector<float> own(vector.begin(), vector.end());
  std::ranges::fill(vector, -1.0f);
  const std::span<const float> all(own);
  const std::span<const float> parts[] = {all.first(7), all.subspan(7)};
  node.give(numbers, parts);
}

// Called with every notice of a node.
using Hear = std::function<void(NodeIndex, const std::string&)>;

// Answers until the end.
void loop(LoopNode& node, const Task& problem, const Look& look, LoopRun& run,
          const Hear& hear = {}) {
  const NodeIndex self = node.self();
  const auto part = make_quadratic_objective(problem.quadratic, self);
  const auto w = node.vectors()->parameters.span();
  part->bind(w, node.vectors()->gradient.span());
  std::optional<std::uint64_t> first;
  for (;;) {
    const LoopWish wish = node.wait(kTick);
    for (const LoopEvent& event : node.take_events())
      if (const auto* notice = std::get_if<std::string>(&event); notice && hear)
        hear(self, *notice);
    if (wish == LoopWish::kEnd) break;
    if (wish == LoopWish::kGradient) {
      if (!first) run.first_batches[self] = *(first = node.batch());
      run.zeroes[self] +=
          std::ranges::all_of(node.vectors()->gradient.span(), [](float x) { return x == 0; });
      const GradientNumbers numbers = part->gradient(node.batch()).value();
      if (look) look(node, self);
      give(node, numbers, self == 1);
    }
    if (wish == LoopWish::kEvaluation) node.give(EvaluationNumbers{1, 2, 3});
    if (wish == LoopWish::kState) {
      const std::byte state[] = {std::byte{'s'}, static_cast<std::byte>('0' + self)};
      node.give_state({std::begin(state), std::end(state)});
    }
    if (wish == LoopWish::kRestore)
      for (const std::byte b : node.take_restored())
        run.restored[self].push_back(static_cast<char>(b));
  }
  run.models[self].assign(w.begin(), w.end());
  if (!node.end()) return static_cast<void>(run.texts[self] = node.end().error().message);
  run.outcomes[self] = node.end()->node.outcome;
  run.texts[self] = node.end()->node.text;
}

LoopRun run_loops(const Task& problem, const MeshFiles& files, const LoopNodeOptions& options,
                  const Look& look = {}) {
  LoopRun run;
  std::vector<std::jthread> threads;
  for (NodeIndex i = 0; i < kNodes; ++i)
    threads.emplace_back([&, i] {
      LoopNodeOptions own = options;
      own.node = files.topology.nodes[i].name;
      own.layout = problem.layout;
      auto node = LoopNode::make(files, own);
      ASSERT_TRUE(node.ok()) << node.error().message;
      // Only the first node's start counts.
      std::ranges::fill((*node)->vectors()->parameters.span(), i == 0 ? 0.0f : 7.0f * i);
      loop(**node, problem, look, run);
    });
  threads.clear();
  return run;
}

TEST(LoopNode, EndsWithTheBitsOfASimulation) {
  const Task problem = make_problem();
  for (const std::string config : {"loop.yaml", "loop-ahead.yaml"}) {
    MeshFiles files = files_of(config);
    LoopNodeOptions options;
    options.folder = fresh_folder(config);
    const LoopRun run = run_loops(problem, on_free_ports(files), options);
    files.config.own_objective = false;
    files.config.quadratic = problem.options;
    auto objective = make_quadratic_mesh(problem.options, kNodes, {}, 1);
    const auto mesh = Mesh::make(std::move(files), std::move(objective.value()));
    const auto simulated = (*mesh)->simulate({});
    ASSERT_TRUE(simulated.ok()) << simulated.error().message;
    for (NodeIndex i = 0; i < kNodes; ++i) {
      EXPECT_EQ(run.outcomes[i], Outcome::kDone) << run.texts[i];
      EXPECT_EQ(run.models[i], simulated->run.model) << config << " at node " << i;
    }
  }
}

// Seen to fail where every gradient was zeroed.
TEST(LoopNode, BeginsGradientsAtZeroForLoopsThatAddToThem) {
  const Task problem = make_problem();
  LoopNodeOptions options;
  options.folder = fresh_folder("adds");
  const LoopRun adds = run_loops(problem, on_free_ports(files_of("loop.yaml")), options);
  options.folder = fresh_folder("writes");
  options.adds_gradient = false;
  const LoopRun writes = run_loops(problem, on_free_ports(files_of("loop.yaml")), options);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    EXPECT_GT(adds.zeroes[i], 1);
    EXPECT_EQ(writes.zeroes[i], 1);  // the memory of the first one is new
    EXPECT_EQ(writes.models[i], adds.models[i]);
  }
}

// Where nodes look ahead the point is not what they agree on, and gathers are shared.
TEST(LoopNode, ShowsTheSameRoundToAllBesideItsPoint) {
  const Task problem = make_problem();
  std::vector<std::vector<std::vector<float>>> shown(kNodes);  // [node][round]
  const Look look = [&](LoopNode& node, NodeIndex self) {
    const auto w = node.vectors()->parameters.span();
    const std::vector<float> point(w.begin(), w.end());
    for (;;) {
      const auto there = node.show_round(kTick);
      ASSERT_TRUE(there.ok());
      if (*there) break;
    }
    shown[self].emplace_back(w.begin(), w.end());
    node.show_point();
    EXPECT_TRUE(std::ranges::equal(point, w));
    if (node.batch() > 2) {
      EXPECT_NE(point, shown[self].back());
    }
  };
  LoopNodeOptions options;
  options.folder = fresh_folder("shown");
  const LoopRun run = run_loops(
      problem, on_free_ports(files_of("loop-ahead.yaml", "slow-ring.yaml")), options, look);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    EXPECT_EQ(run.outcomes[i], Outcome::kDone) << run.texts[i];
    ASSERT_EQ(shown[i].size(), shown[0].size());
    EXPECT_EQ(shown[i], shown[0]);
  }
}

TEST(LoopNode, GoesOnFromACheckpointWithTheLoopsState) {
  const Task problem = make_problem();
  const MeshFiles files = on_free_ports(files_of("loop.yaml"));
  LoopNodeOptions options;
  options.folder = fresh_folder("whole");
  options.has_state = true;
  const LoopRun whole = run_loops(problem, files, options);
  options.folder = fresh_folder("parts");
  const auto all_hold_the_first = [&](LoopNode& node) {
    return std::ranges::all_of(node.mesh().plan().view.nodes, [&](const std::string& name) {
      return std::filesystem::exists(node.folder().checkpoints(name) + "/9.checkpoint");
    });
  };
  const LoopRun begun = run_loops(problem, files, options, [&](LoopNode& node, NodeIndex self) {
    if (self == 1 && node.batch() > 12 && all_hold_the_first(node)) node.stop();
  });
  EXPECT_EQ(begun.outcomes[1], Outcome::kStopped) << begun.texts[1];
  options.resumes = true;
  const LoopRun resumed = run_loops(problem, files, options);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    EXPECT_EQ(resumed.outcomes[i], Outcome::kDone) << resumed.texts[i];
    EXPECT_GT(resumed.first_batches[i], 0u);
    EXPECT_EQ(resumed.first_batches[i] % 10, 0u);
    EXPECT_EQ(resumed.restored[i], std::string("s") + static_cast<char>('0' + i));
    EXPECT_EQ(resumed.models[i], whole.models[i]);
  }
  // A state of the program that nobody takes back is no state of the node.
  options.has_state = false;
  const LoopRun other = run_loops(problem, files, options);
  EXPECT_NE(other.texts[0].find("bytes too many"), std::string::npos) << other.texts[0];
}

TEST(LoopNode, EndsTheRunByTheSentenceOfALoopThatFails) {
  const Task problem = make_problem();
  for (const bool finite : {true, false}) {
    LoopNodeOptions options;
    options.folder = fresh_folder(finite ? "error" : "infinite");
    const Look look = [&](LoopNode& node, NodeIndex self) {
      if (self != 1 || node.batch() != 3) return;
      if (finite) node.give(Error{ErrorCode::kUserInput, "the loop ended: no more data"});
      node.vectors()->gradient.span()[0] = std::numeric_limits<float>::infinity();
    };
    const LoopRun run = run_loops(problem, on_free_ports(files_of("loop.yaml")), options, look);
    const char* sentence = finite ? "node b, round 3: the loop ended: no more data"
                                  : "node b, round 3: the gradient of layer";
    for (NodeIndex i = 0; i < kNodes; ++i) {
      EXPECT_EQ(run.outcomes[i], Outcome::kFailed);
      EXPECT_NE(run.texts[i].find(sentence), std::string::npos) << run.texts[i];
    }
  }
}

// Which node refuses another first is open, and who is refused ends; the others would go on waiting
// for it and are stopped once one node has told why.
TEST(LoopNode, RefusesAMeshOfOtherParameters) {
  const Task problem = make_problem();
  const MeshFiles files = on_free_ports(files_of("loop.yaml"));
  std::vector<std::unique_ptr<LoopNode>> nodes;
  for (NodeIndex i = 0; i < kNodes; ++i) {
    LoopNodeOptions options;
    options.node = files.topology.nodes[i].name;
    options.layout = problem.layout;
    options.layout.layers[0].name = i == 2 ? "head.weight" : "fc.weight";
    options.folder = fresh_folder("other" + std::to_string(i));
    auto node = LoopNode::make(files, options);
    ASSERT_TRUE(node.ok()) << node.error().message;
    nodes.push_back(std::move(*node));
  }
  LoopRun run;
  std::atomic<bool> told = false;  // or a node has ended
  const auto tell = [&] {
    told = true;
    told.notify_one();
  };
  const Hear hear = [&](NodeIndex, const std::string& notice) {
    if (notice.find("the initial parameters differ") != std::string::npos) tell();
  };
  std::vector<std::jthread> threads;
  for (const auto& node : nodes)
    threads.emplace_back([&] {
      loop(*node, problem, {}, run, hear);
      tell();
    });
  told.wait(false);
  for (const auto& node : nodes) node->stop();
  threads.clear();
  bool said = false;
  for (NodeIndex i = 0; i < kNodes; ++i) {
    EXPECT_NE(run.outcomes[i], Outcome::kDone);
    EXPECT_THAT(run.texts[i], AnyOf(HasSubstr("before the mesh was complete"),
                                    HasSubstr("the initial parameters differ")));
    said = said || (run.texts[i].find("the initial parameters differ") != std::string::npos &&
                    run.texts[i].find("same names, order, shapes") != std::string::npos);
  }
  EXPECT_TRUE(said);
}

Result<std::unique_ptr<LoopNode>> node_in(const std::string& folder, const std::string& name,
                                          MeshFiles files = files_of("loop.yaml")) {
  LoopNodeOptions options;
  options.node = name;
  options.layout = Layout::vector(9);
  options.folder = folder;
  return LoopNode::make(std::move(files), std::move(options));
}

// A start that failed before its first round has left no records, and yet its copies. Seen to fail
// where any folder of a run was taken.
TEST(LoopNode, RefusesAFolderOfAnEarlierStartWithOtherSettings) {
  const std::string folder = fresh_folder("settings");
  const auto earlier = node_in(folder, "a");
  ASSERT_TRUE(earlier.ok()) << earlier.error().message;
  const auto same = node_in(folder, "a", on_free_ports(files_of("loop.yaml")));
  EXPECT_TRUE(same.ok()) << same.error().message;
  MeshFiles edited = files_of("loop.yaml");
  edited.config.optimizer.lr /= 2;
  const auto other = node_in(folder, "b", std::move(edited));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(other.error().message,
              HasSubstr(" holds a run with another config or topology. Name another"));
}

// Both make the folder at once: the other one has its copy in it, and run.json not yet.
TEST(LoopNode, SharesAFolderInTheMaking) {
  const std::string folder = fresh_folder("in_the_making");
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(kFolder + "loop.yaml", folder + "/config.yaml");
  const auto node = node_in(folder, "b");
  EXPECT_TRUE(node.ok()) << node.error().message;
  EXPECT_TRUE(std::filesystem::exists(folder + "/run.json"));
}

// Seen to fail: a config of the user was written over.
TEST(LoopNode, WritesOverNothingThatItFindsInItsFolder) {
  const std::string folder = fresh_folder("of_others");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/topology.yaml") << "mine";
  const auto node = node_in(folder, "b");
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(node.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(node.error().message, HasSubstr("topology.yaml is there already and is not writ"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/config.yaml"));
}

TEST(LoopNode, SaysWhatIsWrongBeforeItStarts) {
  LoopNodeOptions options;
  options.layout = Layout::vector(3);
  options.node = "z";
  const auto unknown = LoopNode::make(files_of("loop.yaml"), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("the topology has no node 'z'"), std::string::npos);
  MeshFiles files = files_of("loop.yaml");
  files.config.stop.accuracy = 0.9;
  options.node = "a";
  const auto blind = LoopNode::make(std::move(files), options);
  ASSERT_FALSE(blind.ok());
  EXPECT_NE(blind.error().message.find("of a test set"), std::string::npos);
}

}  // namespace
}  // namespace kimesh::loop_test
