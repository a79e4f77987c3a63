// `kimesh plan --suggest`: a topology file that is ready to use.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>

#include "kimesh/topology/topology_file.h"
#include "tests/e2e/program.h"

namespace kimesh::test::suggest_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 8}
optimizer: {kind: sgd, lr: 0.01}
stop: {rounds: 20}
threads: 1
)";
// The good ring is a > c > b > d.
constexpr const char* kAllPairs = R"(# comments go
kind: parameter_server
servers: all
dead_after: 7s
nodes:
  a: {address: "tcp://127.0.0.1:7101"}
  b: {address: "tcp://127.0.0.1:7102"}
  c: {address: "tcp://127.0.0.1:7103"}
  d: {address: "tcp://127.0.0.1:7104"}
links:
  default: {rate: 200kbit}
  a->c: {rate: 20Mbit}
  c->b: {rate: 20Mbit}
  b->d: {rate: 20Mbit}
  d->a: {trace: ../rates.csv}
  b->a: {rate: 100kbit}
)";

struct Suggested : testing::Test {
  Suggested() {
    scratch.write("config.yaml", kConfig);
    std::filesystem::create_directory(scratch.path() + "/meshes");
    scratch.write("meshes/all.yaml", kAllPairs);
    scratch.write("rates.csv", "0,20Mbit\n");
  }
  [[nodiscard]] Ended plan(const std::string& topology, const std::string& to,
                           const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"plan", topology, "--config", "config.yaml", "--suggest", to};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(scratch, words);
  }
  const Scratch scratch;
};

// Seen to fail: links kept that carry nothing any more, a trace that the new file does not find.
TEST_F(Suggested, IsWrittenAndTrains) {
  const Ended ended = plan("meshes/all.yaml", "best.yaml");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("a round of dense messages takes:"));
  EXPECT_THAT(ended.out, HasSubstr("the topology as it is"));
  EXPECT_THAT(ended.out, HasSubstr("ring: a > c > b > d"));
  EXPECT_THAT(ended.out, HasSubstr("7 of 12 directed pairs have the rate of links.default"));
  const auto made = load_topology(scratch.path() + "/best.yaml");
  ASSERT_TRUE(made.ok()) << to_string(made.problems.front());
  EXPECT_EQ(made.value.kind->kind_name(), "ring");
  EXPECT_EQ(made.value.dead_after, std::chrono::seconds(7));
  ASSERT_EQ(made.value.links.size(), 4u) << "those of the ring";
  EXPECT_EQ(made.value.link(3, 0).rate->mean(), 20e6) << "its trace is found";
  const Ended run = run_program(
      scratch, {"simulate", "--config", "config.yaml", "--topology", "best.yaml", "--run", "r"});
  EXPECT_EQ(run.code, 0) << run.err;
  const Ended again = plan("meshes/all.yaml", "best.yaml");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("best.yaml is there already"));
}

// Graphs are not searched, and no ring, tree or parameter server is as good as this one. Seen to
// fail where the best of those was written.
TEST_F(Suggested, IsNotWrittenWhereNothingIsShorter) {
  const Ended ended = plan(std::string(KIMESH_SOURCE_DIR) + "/topologies/graph5.yaml", "best.yaml");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("the topology as it is  <-\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nnothing is written: no ring, tree or parameter server"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/best.yaml"));
}

TEST_F(Suggested, TakesRatesThatARunMeasured) {
  // Nothing is declared; the links that the run has are known by it.
  std::string text = kAllPairs;
  scratch.write("meshes/open.yaml", text.substr(0, text.find("links:")));
  const Ended unknown = plan("meshes/open.yaml", "best.yaml");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("12 of 12 directed pairs have no rate"));
  ASSERT_EQ(run_program(scratch, {"simulate", "--config", "config.yaml", "--topology",
                                  "meshes/all.yaml", "--run", "all"})
                .code,
            0);
  const Ended ended = plan("meshes/open.yaml", "best.yaml", {"--measured", "runs/all"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("ring: a > c > b > d"));
  EXPECT_THAT(ended.out, Not(HasSubstr("links.default")));
  EXPECT_THAT(read_text(scratch.path() + "/best.yaml"), Not(HasSubstr("rate")))
      << "what was measured is no emulation";
  EXPECT_EQ(plan("meshes/open.yaml", "other.yaml", {"--measured", "runs/none"}).code, 2);
}

// The search is exact for up to nine nodes, and tells of more how far from the best it may be.
// Seen to fail: a bound of the best alone, which is no ring.
TEST_F(Suggested, SaysHowFarFromTheBestItMayBe) {
  const auto write = [&](unsigned nodes) {
    std::string text = "kind: parameter_server\nservers: all\nnodes:\n", links = "links:\n";
    unsigned drawn = 1;
    for (unsigned from = 0; from < nodes; ++from) {
      text += fmt::format("  n{0}: {{address: \"tcp://127.0.0.1:{1}\"}}\n", from, 7101 + from);
      for (unsigned to = 0; to < nodes; ++to) {
        drawn = (drawn * 1103515245 + 12345) % 2147483648u;
        if (from != to)
          links += fmt::format("  n{}->n{}: {{rate: {}kbit}}\n", from, to, 500 + drawn % 19500);
      }
    }
    scratch.write("meshes/drawn.yaml", text + links);
    const Ended ended = plan("meshes/drawn.yaml", fmt::format("best{}.yaml", nodes));
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out;
  };
  const std::string of_few = write(5), of_many = write(12);
  EXPECT_THAT(of_few, HasSubstr("\nno other ring has shorter rounds\n"));
  EXPECT_THAT(of_few, HasSubstr("\nno other tree has shorter rounds\n"));
  for (const std::string kind : {"ring", "tree"}) {
    const std::regex bound("\nno other " + kind +
                           " can have rounds shorter by more than (\\d+\\.\\d) %\n");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(of_many, found, bound)) << of_many;
    EXPECT_LT(std::stod(found[1]), 60);
  }
}

TEST_F(Suggested, OfARingWithoutOtherRatesKeepsItsOrder) {
  const Ended ended = plan("topologies/ring4.yaml", "best.yaml");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("8 of 12 directed pairs have no rate that is known"));
  EXPECT_EQ(load_topology(scratch.path() + "/best.yaml").value.nodes[0].name, "a");
}

// Seen to fail: a file that named no keys, for which `check` asked for new ones.
TEST_F(Suggested, FindsTheKeysOfTheMeshThatItIsMadeOf) {
  const std::string text = kAllPairs;
  scratch.write("meshes/closed.yaml", "security: curve\n" + text);
  ASSERT_EQ(run_program(scratch, {"keygen", "meshes/closed.yaml"}).code, 0);
  ASSERT_EQ(plan("meshes/closed.yaml", "best.yaml").code, 0);
  EXPECT_THAT(read_text(scratch.path() + "/best.yaml"), HasSubstr("\nkeys: meshes/keys\n"));
  const Ended check = run_program(scratch, {"check", "best.yaml"});
  EXPECT_EQ(check.code, 0) << check.err;
  ASSERT_EQ(plan("meshes/closed.yaml", "meshes/best.yaml").code, 0);
  EXPECT_THAT(read_text(scratch.path() + "/meshes/best.yaml"), Not(HasSubstr("keys:")));
  ASSERT_EQ(plan("meshes/all.yaml", "open.yaml").code, 0);
  EXPECT_THAT(read_text(scratch.path() + "/open.yaml"), Not(HasSubstr("keys:")));
}

// Seen to fail: shard_weight of nodes that serve no more, which every command refused.
TEST_F(Suggested, WeighsTheShardsOfServersAlone) {
  const Ended ended = run_program(scratch, {"plan", "topologies/ps4.yaml", "--config",
                                            "configs/digits.yaml", "--suggest", "best.yaml"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  ASSERT_THAT(ended.out, testing::ContainsRegex("parameter_server: servers [a-d], [a-d], [a-d], "
                                                "shards [0-9.]+ [0-9.]+ [0-9.]+  <-\n"));
  const auto made = load_topology(scratch.path() + "/best.yaml");
  EXPECT_TRUE(made.ok()) << to_string(made.problems.front());
}

// Seen to fail with code 1, after the search.
TEST_F(Suggested, NeedsAFolderForItsFile) {
  const Ended ended = plan("meshes/all.yaml", "nowhere/best.yaml");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("kimesh: --suggest: nowhere/best.yaml cannot be written: "));
}

TEST_F(Suggested, NeedsToKnowWhatIsTrained) {
  const Ended ended = run_program(scratch, {"plan", "meshes/all.yaml", "--suggest", "best.yaml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("--suggest needs to know what is trained"));
}

}  // namespace
}  // namespace kimesh::test::suggest_test
