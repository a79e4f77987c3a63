// Names that stand for nothing but an IPv6 address.
#include <gmock/gmock.h>

#include "tests/cannot_run.h"
#include "tests/e2e/own_namespaces.h"
#include "tests/e2e/program.h"

namespace kimesh::test::ipv6_test {
namespace {

constexpr const char* kConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 16}
optimizer: {kind: sgd, lr: 0.05}
compression: {policy: fixed, compressor: topk, ratio: 0.05}
threads: 1
stop: {rounds: 20}
)";

// Where the files `hosts` and `nsswitch.conf` of the test are the system's.
bool move_to_names_of_its_own() {
  return leave_namespaces(CLONE_NEWNS | CLONE_NEWNET) && start_loopback() &&
         ::mount("hosts", "/etc/hosts", nullptr, MS_BIND, nullptr) == 0 &&
         ::mount("nsswitch.conf", "/etc/nsswitch.conf", nullptr, MS_BIND, nullptr) == 0;
}

// Both names lead to ::1, the second one as a system names itself. Seen to fail: names bound, and
// dialled, by IPv4 alone.
TEST(IPv6, ANameMayHaveNoOtherAddress) {
  const Scratch scratch;
  scratch.write("hosts", "127.0.0.1 localhost\n::1 ip6-localhost six\n");
  scratch.write("nsswitch.conf", "hosts: files\n");
  scratch.write("config.yaml", kConfig);
  scratch.write("pair.yaml",
                "kind: ring\nsecurity: none\nnodes:\n  a: {address: \"tcp://ip6-localhost:7101\"}\n"
                "  b: {address: \"tcp://six:7102\"}\n");
  Program run(scratch, {"up", "--config", "config.yaml", "--topology", "pair.yaml", "--run", "six"},
              move_to_names_of_its_own);
  const Ended ended = run.wait();
  if (ended.code == 77) return cannot_run("this system lets nobody have names of his own");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_TRUE(Program::all_gone());
}

}  // namespace
}  // namespace kimesh::test::ipv6_test
