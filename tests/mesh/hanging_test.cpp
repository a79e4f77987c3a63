// Threads that hang when their run has ended: what they work on outlives the mesh and the loop that
// a program drops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "kimesh/compress/codecs.h"
#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/loop_node.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/policy/compression_options.h"

namespace kimesh::hanging_test {
namespace {

constexpr std::size_t kSize = 4000;  // messages of few elements would be dense, without a codec

// One thread that comes here waits until the test lets it go.
class Trap {
 public:
  void pass() {
    if (!armed_.exchange(false)) return;
    caught_ = true;
    caught_.notify_all();
    let_go_.wait(false);
  }
  // To be called behind what that thread does after pass().
  void leave() {
    if (!let_go_) return;
    passed_ = true;
    passed_.notify_all();
  }
  void arm() { armed_ = true; }
  void await_catch() const { caught_.wait(false); }
  [[nodiscard]] const std::atomic<bool>& caught() const { return caught_; }
  void let_go() {
    let_go_ = true;
    let_go_.notify_all();
    passed_.wait(false);
  }

 private:
  std::atomic<bool> armed_{false}, caught_{false}, let_go_{false}, passed_{false};
};

MeshFiles files_of_ring() {
  const std::string folder = KIMESH_SOURCE_DIR "/tests/mesh/";
  auto files = load_mesh_files(folder + "loop.yaml", folder + "ring.yaml");
  for (const Problem& problem : files.problems) ADD_FAILURE() << to_string(problem);
  const std::vector<int> ports = *free_ports(files.value.topology.nodes.size());
  for (std::size_t i = 0; i < ports.size(); ++i)
    files.value.topology.nodes[i].address = "tcp://127.0.0.1:" + std::to_string(ports[i]);
  files.value.config.stop.rounds = 1'000'000;
  return std::move(files.value);
}

// f(x) = 1/2 |x|².
class Bowl final : public Objective {
 public:
  explicit Bowl(std::shared_ptr<Trap> trap) : trap_(std::move(trap)) {}
  const Layout& layout() const override { return layout_; }
  void initialise(std::span<float> w) override { std::ranges::fill(w, 1.0f); }
  void bind(std::span<float> w, std::span<float> gradient) override {
    w_ = w;
    gradient_ = gradient;
  }
  Result<GradientNumbers> gradient(std::uint64_t) override {
    trap_->pass();
    std::ranges::copy(w_, gradient_.begin());
    trap_->leave();
    return GradientNumbers{1, 1};
  }

 private:
  const std::shared_ptr<Trap> trap_;
  const Layout layout_ = Layout::vector(kSize);
  std::span<const float> w_;
  std::span<float> gradient_;
};

// Seen to fail: the objective was freed with the mesh, as was its plan.
TEST(Hanging, AGradientKeepsTheObjectiveOfItsMesh) {
  const auto trap = std::make_shared<Trap>();
  auto in_objective = std::make_shared<int>(0);
  const std::weak_ptr<int> is_there = in_objective;
  auto objective = make_mesh_objective(
      Layout::vector(kSize), shares_of_weights({}, 3),
      [trap, in_objective = std::move(in_objective)](NodeIndex) -> std::unique_ptr<Objective> {
        return std::make_unique<Bowl>(trap);
      });
  auto mesh = Mesh::make(files_of_ring(), std::move(objective));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  MeshRunOptions options;
  options.stop = &trap->caught();
  options.callbacks.round = [&](NodeIndex node, const RoundRecord& round, const RunTally&) {
    if (node == 0 && round.round == 3) trap->arm();
  };
  const auto end = (*mesh)->run_here(options);
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->run.outcome, Outcome::kStopped) << end->run.text;
  EXPECT_TRUE(end->hangs);
  mesh->reset();
  EXPECT_FALSE(is_there.expired());
  trap->let_go();
}

// The codec topk, with a trap in its way.
class HoldsUp final : public Codec {
 public:
  static Trap& trap() {
    static auto* const trap = new Trap();
    return *trap;
  }
  CodecTraits traits() const override { return inner_->traits(); }
  std::span<const WireForm> forms() const override { return {}; }  // topk has declared them
  std::size_t bytes_max(std::size_t kept, std::size_t size) const override {
    return inner_->bytes_max(kept, size);
  }
  Result<Advanced> advance(const AdvanceJob& job) const override {
    trap().pass();
    auto advanced = inner_->advance(job);
    trap().leave();
    return advanced;
  }

 private:
  const CodecPtr inner_ = make_codec("topk");
};

// Answers until the end.
void loop(LoopNode& node) {
  constexpr Duration kTick = std::chrono::milliseconds(100);
  for (;;) {
    const LoopWish wish = node.wait(kTick);
    static_cast<void>(node.take_events());
    if (wish == LoopWish::kEnd) return;
    if (wish != LoopWish::kGradient) continue;
    if (node.self() == 0 && node.batch() == 3) HoldsUp::trap().arm();
    std::ranges::copy(node.vectors()->parameters.span(), node.vectors()->gradient.span().begin());
    node.give(GradientNumbers{1, 1});
  }
}

// Seen to fail: the vectors were freed with the node that held them.
TEST(Hanging, AMessageKeepsTheVectorsOfItsLoop) {
  static const bool once =
      (add_codec({"holds_up", "topk, until it is told to wait", make_options<HoldsUp, Codec>}),
       true);
  ASSERT_TRUE(once);
  MeshFiles files = files_of_ring();
  files.config.compression =
      compression_options({{"policy", "fixed"}, {"compressor", "holds_up"}, {"ratio", "0.1"}});
  const auto folder = std::filesystem::path(::testing::TempDir()) / "hanging_loop";
  std::filesystem::remove_all(folder);
  std::vector<std::unique_ptr<LoopNode>> nodes;
  for (const NodeSpec& spec : files.topology.nodes) {
    LoopNodeOptions options;
    options.node = spec.name;
    options.layout = Layout::vector(kSize);
    options.folder = folder.string();
    auto node = LoopNode::make(files, options);
    ASSERT_TRUE(node.ok()) << node.error().message;
    std::ranges::fill((*node)->vectors()->parameters.span(), 1.0f);
    nodes.push_back(std::move(*node));
  }
  std::vector<std::jthread> threads;
  for (const auto& node : nodes) threads.emplace_back([&node] { loop(*node); });
  HoldsUp::trap().await_catch();
  nodes[0]->stop();
  threads.clear();
  std::size_t hanging = 0;
  for (auto& node : nodes) {
    ASSERT_TRUE(node->end().ok()) << node->end().error().message;
    const bool hangs = node->end()->node.hangs;
    hanging += hangs;
    const std::weak_ptr<LoopVectors> vectors = node->vectors();
    node.reset();
    EXPECT_EQ(vectors.expired(), !hangs);
  }
  EXPECT_EQ(hanging, 1u);
  HoldsUp::trap().let_go();
}

}  // namespace
}  // namespace kimesh::hanging_test
