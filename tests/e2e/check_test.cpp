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

}  // namespace
}  // namespace kimesh::test::check_test
