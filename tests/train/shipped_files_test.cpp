// The files that ship: topologies and, since they name LibTorch's models, configs.
#include <filesystem>
#include <string>
#include <vector>

#include "kimesh/run/check_together.h"
#include "tests/train/fixture.h"

namespace kimesh::shipped_files_test {
namespace {

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(KIMESH_SOURCE_DIR "/" + folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  return files;
}

void expect_none(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) ADD_FAILURE() << to_string(problem);
}

// Seen to fail with `lr` misspelt in one of them.
TEST(ShippedFiles, AllLoad) {
  const auto topologies = yaml_files("topologies"), configs = yaml_files("configs");
  EXPECT_GE(topologies.size(), 5u);
  EXPECT_GE(configs.size(), 5u);
  for (const auto& path : topologies) expect_none(load_topology(path).problems);
  for (const auto& path : configs) expect_none(load_config(path).problems);
}

TEST(ShippedFiles, AllGoTogether) {
  for (const auto& topology : yaml_files("topologies"))
    for (const auto& config : yaml_files("configs"))
      expect_none(check_together(load_config(config).value, config, load_topology(topology).value));
}

TEST(ShippedFiles, DigitsSaysWhatItSays) {
  const auto loaded = load_config(KIMESH_SOURCE_DIR "/configs/digits.yaml");
  const RunConfig& config = loaded.value;
  EXPECT_NE(config.canonical().find("model.hidden 256 128\n"), std::string::npos);
  EXPECT_EQ(config.data.batch, 64);
  EXPECT_EQ(config.optimizer.lr, 0.1);
  EXPECT_EQ(config.optimizer.kind->at_workers().momentum, 0.85);
  EXPECT_EQ(config.optimizer.kind->at_workers().decay, 0.001);
  EXPECT_EQ(config.compression.policy->kind_name(), "kimad");
  EXPECT_EQ(config.compression.codec->kind_name(), "dzq");
  EXPECT_EQ(config.round_time, std::chrono::milliseconds(18));
  EXPECT_EQ(config.stop.rounds, 2000u);
  EXPECT_EQ(config.stop.accuracy, 0.96);
  EXPECT_EQ(config.stop.time, std::nullopt);
}

}  // namespace
}  // namespace kimesh::shipped_files_test
