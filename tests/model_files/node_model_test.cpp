#include "kimesh/model_files/node_model.h"

#include <gmock/gmock.h>

#include "tests/records/folder.h"

namespace kimesh::node_model_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMesh = 0xabcdef0123456789;
constexpr std::uint64_t kLineage = 77;

// Every parameter of a node's model is its number plus its round over a hundred.
std::vector<float> values_of(NodeIndex node, Round round, std::size_t size) {
  return std::vector<float>(size, static_cast<float>(node) + static_cast<float>(round) / 100);
}

Result<ModelOrigin> read_origin(const std::string& path) {
  const auto file = read_safetensors(path);
  return file ? origin_of(*file, path) : file.error();
}

class NodeModels : public testing::Test {
 protected:
  NodeModelFile leave(NodeIndex node, Round round, std::uint64_t mesh = kMesh) {
    return leave(unagreed_origin(mesh, plan_, node, {round, kLineage}), plan_.view.nodes[node],
                 values_of(node, round, plan_.layout.size()));
  }
  NodeModelFile leave(const ModelOrigin& origin, const std::string& node,
                      const std::vector<float>& values) {
    const std::string path = folder_ / (node + std::to_string(count_++) + ".safetensors");
    EXPECT_TRUE(write_model(path, plan_.layout, values, {}, metadata_of(origin)).ok());
    return {node, path};
  }
  std::string joined() { return folder_ / "model.safetensors"; }
  // What every shard of the joined model holds, by its owner.
  std::vector<float> shards() {
    const auto model = read_model(joined(), plan_.layout);
    EXPECT_TRUE(model.ok());
    std::vector<float> values(plan_.view.nodes.size());
    for (const Shard& shard : plan_.shards) {
      const auto part = std::span(*model).subspan(shard.begin, shard.size);
      for (const float value : part) EXPECT_EQ(value, part.front()) << "one shard, one node";
      values[shard.owner] = part.front();
    }
    return values;
  }
  std::string complaint(std::vector<NodeModelFile> files) {
    const auto result = join_models(std::move(files), joined());
    EXPECT_FALSE(result.ok());
    EXPECT_FALSE(std::filesystem::exists(joined())) << "nothing is written";
    return result.ok() ? "" : result.error().message;
  }

  const test::Folder folder_;
  const Plan plan_ = test::small_plan(4);
  int count_ = 0;
};

// Seen to fail where the newest node's copies stood for all shards.
TEST_F(NodeModels, GiveEveryShardOfItsOwner) {
  std::vector<NodeModelFile> files;
  for (const NodeIndex node : {2u, 0u, 3u, 1u}) files.push_back(leave(node, node == 1 ? 8 : 7));
  const auto result = join_models(files, joined());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->complete);
  EXPECT_EQ(shards(), (std::vector<float>{0.07f, 1.08f, 2.07f, 3.07f}));
  EXPECT_EQ(result->sources[1].round, 8u) << "in the order of the topology";
}

// Seen to fail with the first node's copy, and with the last one's among equals.
TEST_F(NodeModels, LendTheirNewestCopyOfAShardWhoseOwnerIsLost) {
  const auto first = join_models({leave(3, 8), leave(1, 8), leave(0, 7)}, joined());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_FALSE(first->complete);
  EXPECT_EQ(shards(), (std::vector<float>{0.07f, 1.08f, 1.08f, 3.08f}));
  const auto read = read_safetensors(joined());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->metadata.at("kimesh_complete"), "false");
  EXPECT_EQ(read->metadata.at("kimesh_rounds"), "a:7 b:8 d:8");
  ASSERT_TRUE(join_models({leave(2, 5)}, joined()).ok()) << "one survivor is enough";
  EXPECT_EQ(shards(), (std::vector<float>(4, 2.05f)));
}

// Seen to fail without each of the checks.
TEST_F(NodeModels, OfDifferentEndsOrMeshesAreRefused) {
  EXPECT_THAT(complaint({leave(0, 5), leave(1, 7)}), HasSubstr("of different ends"));
  EXPECT_THAT(complaint({leave(0, 5), leave(1, 5, kMesh + 1)}), HasSubstr("of different meshes"));
  EXPECT_THAT(complaint({leave(0, 5), leave(0, 5)}), HasSubstr("of the same node"));
  const ModelOrigin other = unagreed_origin(kMesh, plan_, 1, {5, kLineage + 1});
  EXPECT_THAT(complaint({leave(0, 5), leave(other, "b", values_of(1, 5, plan_.layout.size()))}),
              HasSubstr("of different runs, or of one run that went on in two ways"));
  ModelOrigin thief = unagreed_origin(kMesh, plan_, 1, {5, kLineage});
  thief.unagreed->owned = unagreed_origin(kMesh, plan_, 0, {5, kLineage}).unagreed->owned;
  EXPECT_THAT(complaint({leave(0, 5), leave(thief, "b", values_of(1, 5, plan_.layout.size()))}),
              HasSubstr("own the same shard"));
}

// Seen to fail where models that say that they are agreed on were not compared.
TEST_F(NodeModels, ThatAllAgreeOnAreTakenAsTheyAre) {
  const ModelOrigin agreed{kMesh, plan_.layout.size(), {}};
  const std::vector<float> values = values_of(9, 9, plan_.layout.size());
  const auto result =
      join_models({leave(0, 5), leave(agreed, "c", values), leave(agreed, "d", values)}, joined());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->complete);
  EXPECT_EQ(shards(), (std::vector<float>(4, 9.09f)));
  std::filesystem::remove(joined());
  EXPECT_THAT(complaint({leave(agreed, "c", values),
                         leave(agreed, "d", values_of(8, 8, plan_.layout.size()))}),
              HasSubstr("differ, though both say"));
}

TEST_F(NodeModels, SayWhereTheyComeFrom) {
  for (const ModelOrigin& origin : {unagreed_origin(kMesh, plan_, 3, {12, kLineage}),
                                    ModelOrigin{kMesh, plan_.layout.size(), {}}}) {
    const NodeModelFile file = leave(origin, "d", values_of(3, 12, plan_.layout.size()));
    const auto back = read_origin(file.path);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, origin);
  }
}

// Seen to fail without the bounds of ranges.
TEST_F(NodeModels, WithMetadataThatCannotBeAreRefused) {
  const auto complaint_about = [&](const std::string& key, const std::string& value) {
    TensorMetadata metadata = metadata_of(unagreed_origin(kMesh, plan_, 1, {5, kLineage}));
    metadata[key] = value;
    const std::string path = folder_ / "damaged";
    EXPECT_TRUE(
        write_model(path, plan_.layout, values_of(1, 5, plan_.layout.size()), {}, metadata).ok());
    const auto origin = read_origin(path);
    return origin.ok() ? "" : origin.error().message;
  };
  EXPECT_EQ(complaint_about("kimesh_owned", "0:3 5:6"), "");
  for (const char* owned : {"0", "3:3", "4:3", "0:24", "5:6 0:3", "0:3 2:4", "-1:3", "a:b", "0:3,"})
    EXPECT_THAT(complaint_about("kimesh_owned", owned), HasSubstr("what cannot be")) << owned;
  EXPECT_THAT(complaint_about("kimesh_node", "4"), HasSubstr("what cannot be"));
  EXPECT_THAT(complaint_about("kimesh_round", "4294967295"), HasSubstr("what cannot be"));
  EXPECT_THAT(complaint_about("kimesh_parameters", "24"), HasSubstr("is no model of a node"));
  EXPECT_THAT(complaint_about("kimesh_mesh", "xyz"), HasSubstr("is no model of a node"));
}

}  // namespace
}  // namespace kimesh::node_model_test
