// `kimesh check` refuses what a run could not do, by what its parts declare.
#include "kimesh/compress/codecs.h"
#include "tests/e2e/program.h"

namespace kimesh::test::check_test {
namespace {

// Seen to fail with a codec that says it is conservative, and without the check.
TEST(Check, ACodecThatIsNotConservativeIsRefusedOnARing) {
  const Scratch scratch;
  std::vector<std::string> refused;
  for (const std::string_view name : codecs().names()) {
    if (codecs().make(name)->traits().conservative) continue;
    refused.emplace_back(name);
    scratch.write("config.yaml",
                  "model: {kind: mlp}\ndata: {kind: digits}\noptimizer: {kind: sgd, lr: 0.1}\n"
                  "stop: {rounds: 10}\n"
                  "compression: {policy: fixed, compressor: " +
                      refused.back() + "}\n");
    const Ended ring = run_program(scratch, {"check", "config.yaml", "topologies/ring4.yaml"});
    EXPECT_EQ(ring.code, 2) << name;
    EXPECT_EQ(ring.err,
              "kimesh: config.yaml:5: this compressor is not conservative, and the errors of the "
              "hops of kind: ring would grow. Write compressor: topk, or feedback: ef14 with "
              "gather: shared, or use a topology of kind: parameter_server.\n")
        << name;
    const Ended one_hop = run_program(scratch, {"check", "config.yaml", "topologies/ps4.yaml"});
    EXPECT_EQ(one_hop.code, 0) << name << "\n" << one_hop.err;
  }
  EXPECT_FALSE(refused.empty());
}

TEST(Check, AFileOfHostsIsToldFromOthers) {
  const Scratch scratch;
  scratch.write("machines.yaml", "hosts: {a: {ssh: box}}\n");
  const Ended good = run_program(scratch, {"check", "machines.yaml"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "machines.yaml: a file of hosts, no problem\n");
  scratch.write("machines.yaml", "hosts: {a: {ssh: box, port: 1}}\n");
  const Ended bad = run_program(scratch, {"check", "machines.yaml"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.err,
            "kimesh: machines.yaml:1: unknown key 'port' in hosts.a. Write one of: ssh, folder, "
            "options.\n");
}

// A key that stands a step too far left is one of another kind of file. Seen to fail with six
// sentences about a topology.
TEST(Check, AFileIsOfTheKindThatHasMostOfItsKeys) {
  const Scratch scratch;
  scratch.write("config.yaml",
                "model:\nkind: mlp\ndata: {kind: digits}\noptimizer: {kind: sgd, lr: 0.1}\n"
                "stop: {rounds: 10}\n");
  const Ended config = run_program(scratch, {"check", "config.yaml"});
  EXPECT_EQ(config.code, 2);
  const std::vector<std::string> said = lines_of(config.err);
  ASSERT_EQ(said.size(), 2u) << config.err;
  EXPECT_EQ(said[0].rfind("kimesh: config.yaml:1: model is empty, not a map. ", 0), 0u) << said[0];
  EXPECT_EQ(said[1].rfind("kimesh: config.yaml:2: unknown key 'kind' in the file. ", 0), 0u)
      << said[1];
  scratch.write("mesh.yaml", "kind: ring\nnodes:\na: {address: \"tcp://127.0.0.1:7101\"}\n");
  const Ended topology = run_program(scratch, {"check", "mesh.yaml"});
  EXPECT_EQ(topology.code, 2);
  EXPECT_NE(topology.err.find("unknown key 'a' in the file. Write one of: kind, nodes, "),
            std::string::npos)
      << topology.err;
}

// Seen to fail without the place.
TEST(Plan, NamesThePlaceOfServersThatAModelHasNoRowsFor) {
  const Scratch scratch;
  scratch.write("config.yaml",
                "model: {kind: mlp, hidden: [16]}\ndata: {kind: digits}\n"
                "optimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 10}\n");
  std::string nodes = "nodes:\n";
  for (int i = 0; i < 100; ++i)
    nodes += "  n" + std::to_string(i) +
             ": {address: \"tcp://127.0.0.1:" + std::to_string(7101 + i) + "\"}\n";
  scratch.write("mesh.yaml", "kind: parameter_server\nservers: all\n" + nodes);
  scratch.write("tree.yaml", "kind: tree\nfan_out: 2\n" + nodes);
  const std::string sentence =
      "100 servers cannot share a model of 52 rows: each needs one row of a tensor at least. Name "
      "fewer servers or nodes, or train a larger model.\n";
  const auto refused = [&](const std::string& topology) {
    const Ended ended = run_program(scratch, {"plan", topology, "--config", "config.yaml"});
    EXPECT_EQ(ended.code, 2) << topology;
    EXPECT_EQ(ended.out, "") << topology;
    return ended.err;
  };
  EXPECT_EQ(refused("mesh.yaml"), "kimesh: mesh.yaml:2: " + sentence);
  EXPECT_EQ(refused("tree.yaml"), "kimesh: tree.yaml:3: " + sentence);
}

}  // namespace
}  // namespace kimesh::test::check_test
