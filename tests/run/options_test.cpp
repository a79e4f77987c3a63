#include "kimesh/run/options.h"

#include <gtest/gtest.h>

#include "kimesh/config/options_of_text.h"
#include "tests/settings.h"
#include "tests/shipped.h"

namespace kimesh::options_test {
namespace {

// Seen to fail where a topology that gives numbers is not asked.
TEST(Options, LeaveNodesTheLocalStepsThatAreWritten) {
  TopologyFile topology = load_topology(test::shipped_path("ps4")).value;
  RunConfig config;
  config.quadratic.emplace();
  config.compression = compression_options({{"policy", "auto"}});
  const auto chooses = [&] { return core_options(config, topology, 0, 0.25).chooses_multiples; };
  EXPECT_TRUE(chooses());
  topology.nodes[2].local_steps = 1;
  EXPECT_FALSE(chooses());
  topology.nodes[2].local_steps.reset();
  EXPECT_TRUE(chooses());
  config.compression = compression_options({{"policy", "auto"}, {"local_steps", "2"}});
  EXPECT_FALSE(chooses());
}

// Seen to fail with each of the conditions left out, and where core or vectors are not told.
TEST(Options, LeaveOwnersAtTheirShardsWhereDataAreAlikeAndLinksCompress) {
  const TopologyFile topology = load_topology(test::shipped_path("ps4")).value;
  const std::vector<double> weights(4, 0.25);
  RunConfig config = load_config(KIMESH_SOURCE_DIR "/configs/digits.yaml").value;
  const auto one_point = [&](KeyTexts compression, const std::string& split) {
    config.data.split = split_kinds().make(split);
    compression.insert(compression.begin(), {{"policy", "fixed"}, {"ratio", "0.1"}});
    config.compression = compression_options(compression);
    const bool of_core = core_options(config, topology, 1, 0.25).one_point;
    EXPECT_EQ(vectors_options(config, topology, 1, weights).one_point, of_core);
    return of_core;
  };
  EXPECT_FALSE(one_point({}, "even"));
  EXPECT_FALSE(one_point({}, "weights"));
  EXPECT_TRUE(one_point({}, "by_label"));
  EXPECT_TRUE(one_point({}, "dirichlet"));
  EXPECT_TRUE(one_point({{"gather", "shared"}}, "even"));
  EXPECT_FALSE(one_point({{"feedback", "ef14"}}, "even"));
  EXPECT_TRUE(one_point({{"feedback", "ef14"}}, "by_label"));
  EXPECT_TRUE(one_point({{"one_point", "true"}}, "even"));
  EXPECT_FALSE(one_point({{"one_point", "false"}}, "by_label"));
  config.own_objective = true;
  EXPECT_TRUE(one_point({}, "even")) << "nobody knows the data of others' programs";
  config.own_objective = false;
  config.quadratic.emplace();
  EXPECT_TRUE(one_point({}, "even"));
}

// Seen to fail with the optimizer as the config has it.
TEST(Options, OfAutoLetAdamwRiseToItsFullSteps) {
  const TopologyFile topology = load_topology(test::shipped_path("ps4")).value;
  const std::vector<double> weights(4, 0.25);
  RunConfig config;
  config.quadratic.emplace();
  const auto share_of_first = [&](const std::string& optimizer, const std::string& policy,
                                  const std::string& feedback) {
    config.optimizer = options_of_text<OptimizerOptions>(optimizer);
    config.compression = compression_options({{"policy", policy}, {"feedback", feedback}});
    const OptimizerOptions made = vectors_options(config, topology, 1, weights).optimizer;
    EXPECT_EQ(made.learning_rate(100), made.lr);
    return made.learning_rate(0) / made.lr;
  };
  const std::string adamw = "{kind: adamw, lr: 0.1}";
  EXPECT_EQ(share_of_first(adamw, "auto", "ef14"), 0.25);
  EXPECT_EQ(share_of_first(adamw, "auto", "ef21"), 1) << "the owner's steps wait for nothing";
  EXPECT_EQ(share_of_first(adamw, "fixed", "ef14"), 1);
  EXPECT_EQ(share_of_first("{kind: sgd, lr: 0.1}", "auto", "ef14"), 1);
  const auto written = [&](const std::string& warmup) {
    return share_of_first("{kind: adamw, lr: 0.1, schedule: {warmup: " + warmup + "}}", "auto",
                          "ef14");
  };
  EXPECT_EQ(written("0"), 1);
  EXPECT_EQ(written("2"), 0.5);
  EXPECT_EQ(written("8"), 0.125);
}

}  // namespace
}  // namespace kimesh::options_test
