// Whole meshes through the library: simulated, and live in this process, over sockets and with
// every thread that a node has, which is what the thread sanitizer looks at.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kimesh/mesh/mesh.h"
#include "tests/mesh/quadratic_mesh.h"

namespace kimesh::run_test {
namespace {

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/mesh/";

using test::files_of;
using test::mesh_of;

class EveryTopology : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryTopology, EndsLiveWithTheBitsOfItsSimulation) {
  const auto mesh = mesh_of(files_of(GetParam()));
  std::vector<Round> rounds(mesh->nodes());
  MeshRunOptions options;
  options.callbacks.round = [&](NodeIndex node, const RoundRecord& round, const RunTally& tally) {
    EXPECT_EQ(round.round, rounds[node]++);
    EXPECT_EQ(tally.nodes()[node].latest->round, round.round);
  };
  const auto live = mesh->run_here(options);
  ASSERT_TRUE(live.ok()) << live.error().message;
  ASSERT_EQ(live->run.outcome, Outcome::kDone) << live->run.text;
  for (const Round count : rounds) EXPECT_GE(count, 60u);

  const auto simulated = mesh->simulate({});
  ASSERT_TRUE(simulated.ok()) << simulated.error().message;
  ASSERT_EQ(simulated->run.outcome, Outcome::kDone) << simulated->run.text;
  EXPECT_EQ(live->run.model, simulated->run.model);
  EXPECT_LT(*live->run.gradient_norm_squared, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Mesh, EveryTopology,
                         ::testing::Values("ring", "parameter_server", "tree"));

// A server's part of a large model has several shards where every message is dense.
TEST(Mesh, OfSeveralShardsAServerEndsLiveWithTheBitsOfItsSimulation) {
  for (const char* topology : {"ring", "parameter_server"}) {
    SCOPED_TRACE(topology);
    MeshFiles files = files_of(topology);
    files.config.quadratic->dimension = 1'700'000;
    files.config.compression = CompressionOptions();
    files.config.stop.rounds = 5;
    const auto mesh = mesh_of(std::move(files));
    EXPECT_GT(mesh->plan().shards.size(), mesh->nodes());
    MeshRunOptions options;
    options.callbacks.round = [](NodeIndex, const RoundRecord& round, const RunTally&) {
      for (const LinkRecord& link : round.links) {
        EXPECT_EQ(link.kept, link.elements);
        if (round.confirmation) continue;
        EXPECT_NEAR(static_cast<double>(link.bytes) / (4.0 * static_cast<double>(link.elements)), 1,
                    0.01);
      }
    };
    const auto live = mesh->run_here(options);
    ASSERT_TRUE(live.ok()) << live.error().message;
    ASSERT_EQ(live->run.outcome, Outcome::kDone) << live->run.text;
    const auto simulated = mesh->simulate({});
    ASSERT_TRUE(simulated.ok()) << simulated.error().message;
    EXPECT_EQ(live->run.model, simulated->run.model);
  }
}

TEST(Mesh, StopsInOrderWhenItIsTold) {
  MeshFiles files = files_of("ring");
  files.config.stop.rounds = 1'000'000;
  const auto mesh = mesh_of(std::move(files));
  std::atomic<bool> stop = false;
  MeshRunOptions options;
  options.stop = &stop;
  options.callbacks.round = [&](NodeIndex, const RoundRecord& round, const RunTally&) {
    if (round.round == 5) stop = true;
  };
  const auto end = mesh->run_here(options);
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->run.outcome, Outcome::kStopped) << end->run.text;
}

TEST(Mesh, LeavesTheSameFilesLiveAndSimulated) {
  const auto mesh = mesh_of(files_of("ring"));
  const auto top = std::filesystem::path(::testing::TempDir()) / "mesh_files";
  std::filesystem::remove_all(top);
  std::vector<std::vector<float>> models;
  for (const bool live : {true, false}) {
    const RunFolder folder((top / (live ? "live" : "simulated")).string());
    std::filesystem::create_directories(folder.path());
    MeshRunOptions options;
    options.folder = &folder;
    auto end = live ? mesh->run_here(options) : mesh->simulate({options, {}, nullptr});
    ASSERT_TRUE(end.ok()) << end.error().message;
    const Status collected = collect_model(folder, *mesh, end->run);
    EXPECT_TRUE(collected.ok());
    EXPECT_EQ(end->run.outcome, Outcome::kDone) << end->run.text;
    for (const std::string& name : mesh->plan().view.nodes)
      for (const std::string& file :
           {folder.events(name), folder.decisions(name), folder.node_model(name)})
        EXPECT_TRUE(std::filesystem::exists(file)) << file;
    models.push_back(end->run.model);
  }
  EXPECT_FALSE(models[0].empty());
  EXPECT_EQ(models[0], models[1]);
}

TEST(Mesh, SaysEveryProblemOfItsFiles) {
  const auto files = load_mesh_files(kFolder + "nowhere.yaml", kFolder + "nowhere_either.yaml");
  EXPECT_EQ(files.problems.size(), 2u);
}

TEST(Mesh, AFolderThatANodeHasFilledIsAnError) {
  const auto mesh = mesh_of(files_of("ring"));
  const RunFolder folder((std::filesystem::path(::testing::TempDir()) / "mesh_taken").string());
  std::filesystem::remove_all(folder.path());
  std::filesystem::create_directories(folder.path());
  ASSERT_TRUE(folder.prepare_node("b").ok());
  std::ofstream(folder.events("b")) << "{}\n";
  MeshRunOptions options;
  options.folder = &folder;
  for (const auto& end : {mesh->run_here(options), mesh->simulate({options, {}, nullptr})}) {
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::kUserInput) << end.error().message;
  }
}

// Where the halt of a node that fails for good does not reach another, that one tells of silence.
// Seen to fail where the first of the failures counted.
TEST(Mesh, EndsForGoodWhereAnyNodeDoes) {
  const auto mesh = mesh_of(files_of("ring"));
  EndRecord silence{20, Outcome::kFailed, StopReason::kNone, "silent", 5, 10, {}};
  EndRecord permanent{20, Outcome::kFailed, StopReason::kPermanent, "not finite", 5, 10, {}};
  for (const NodeIndex failed : {NodeIndex{0}, NodeIndex{1}}) {
    RunTally tally(mesh->plan());
    for (NodeIndex node = 0; node < mesh->nodes(); ++node)
      tally.add(node, node == failed ? permanent : silence);
    EXPECT_EQ(end_of_mesh(tally).reason, StopReason::kPermanent) << failed;
    EXPECT_EQ(end_of_mesh(tally).text, "not finite") << failed;
  }
}

}  // namespace
}  // namespace kimesh::run_test
