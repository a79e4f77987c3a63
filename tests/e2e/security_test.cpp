// Keys and encrypted runs through the program, as a user meets them.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/e2e/program.h"

namespace kimesh::test::security_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kShortConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 16}
optimizer: {kind: sgd, lr: 0.05}
compression: {policy: fixed, compressor: topk, ratio: 0.05}
threads: 1
stop: {rounds: 30}
)";

Ended keygen(const Scratch& scratch, std::vector<std::string> more) {
  more.insert(more.begin(), {"keygen", "ring4.yaml"});
  return run_program(scratch, more);
}
Ended up(const Scratch& scratch, const std::string& run, std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"up", "--config", "config.yaml", "--topology", "ring4.yaml", "--run", run});
  return run_program(scratch, more);
}

// Whether any file of a folder holds this text.
bool holds(const std::string& folder, const std::string& text) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && read_text(entry.path().string()).find(text) != std::string::npos)
      return true;
  return false;
}

// The only link of a node, as it stands in the last of its records.
nlohmann::json link_of(const Scratch& scratch, const std::string& run, const std::string& node) {
  const auto lines = lines_of(read_text(scratch.run_file(run, "nodes/" + node + ".jsonl")));
  if (lines.empty()) return {};
  return nlohmann::json::parse(lines.back(), nullptr, false)["counters"][0];
}

// Encryption adds 33 bytes to a frame. Seen to fail: the key files copied into the run's folder;
// the node's keys not given to its network.
TEST(Security, AnEncryptedRunEndsWithTheBitsOfAnOpenOneAndLeavesNoKeyBehind) {
  const Scratch scratch;
  scratch.write("config.yaml", kShortConfig);
  scratch.topology("ring4");
  const Ended open = up(scratch, "open");
  ASSERT_EQ(open.code, 0) << open.out << open.err;
  scratch.topology("ring4", "security: curve\n");
  const Ended made = keygen(scratch, {});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("a, b, c, d"));
  const Ended closed = up(scratch, "closed");
  ASSERT_EQ(closed.code, 0) << closed.out << closed.err;
  EXPECT_TRUE(Program::all_gone());
  EXPECT_EQ(scratch.summary("open")["digests"], scratch.summary("closed")["digests"]);
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::string secret =
        read_text(scratch.path() + "/keys/" + name + ".secret").substr(0, 40);
    ASSERT_EQ(secret.size(), 40u);
    EXPECT_FALSE(holds(scratch.path() + "/runs", secret));
    const auto before = link_of(scratch, "open", name), after = link_of(scratch, "closed", name);
    EXPECT_GE(after.value("tcp_bytes_sent", 0),
              before.value("tcp_bytes_sent", 0) + 33 * after.value("messages", 1000));
    EXPECT_THAT(made.out + closed.out + closed.err, Not(HasSubstr(secret)));
  }
  EXPECT_TRUE(std::filesystem::exists(scratch.run_file("closed", "topology.yaml")));
}

TEST(Security, WithoutKeysNothingStartsAndTheRemedyIsSaid) {
  const Scratch scratch;
  scratch.write("config.yaml", kShortConfig);
  scratch.topology("ring4", "security: curve\n");
  const auto expect_refused = [](const Ended& ended, const std::string& says) {
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << ended.err;
  };
  expect_refused(up(scratch, "x"), "kimesh keygen ring4.yaml --out");
  expect_refused(run_program(scratch, {"check", "ring4.yaml"}), "kimesh keygen ring4.yaml --out");
  expect_refused(run_program(scratch, {"node", "--config", "config.yaml", "--topology",
                                       "ring4.yaml", "--name", "a", "--keys", "elsewhere"}),
                 "no list of keys at elsewhere/public.yaml");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));

  ASSERT_EQ(keygen(scratch, {"--out", "elsewhere"}).code, 0);
  ::chmod((scratch.path() + "/elsewhere/c.secret").c_str(), 0644);
  expect_refused(up(scratch, "x", {"--keys", "elsewhere"}), "chmod 600 elsewhere/c.secret");
  ::chmod((scratch.path() + "/elsewhere/c.secret").c_str(), 0600);
  EXPECT_EQ(up(scratch, "x", {"--keys", "elsewhere"}).code, 0);
  EXPECT_TRUE(Program::all_gone());
}

TEST(Security, KeysAreRenewedByNameOnly) {
  const Scratch scratch;
  scratch.topology("ring4");
  const Ended first = keygen(scratch, {});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out, HasSubstr("write security: curve there"));
  const std::string list = read_text(scratch.path() + "/keys/public.yaml");
  const Ended again = keygen(scratch, {});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("keys of all nodes already"), HasSubstr("--renew NODE")));
  EXPECT_EQ(read_text(scratch.path() + "/keys/public.yaml"), list);
  EXPECT_EQ(keygen(scratch, {"--renew", "x"}).code, 2);
  const Ended renewed = keygen(scratch, {"--renew", "b", "--renew", "d"});
  EXPECT_EQ(renewed.code, 0) << renewed.err;
  EXPECT_THAT(renewed.out, HasSubstr("new keys in keys: b, d"));
}

// Node b has not been given the list with the new key of a. Seen to fail: the far node left out of
// what DialledSocket tells.
TEST(Security, ADoctorFindsThatAKeyIsDenied) {
  const Scratch scratch;
  const auto address = [](const char* port) { return "tcp://" + own_host() + ":" + port; };
  scratch.write("pair.yaml", "kind: ring\nsecurity: curve\nnodes: {a: {address: \"" +
                                 address("7101") + "\"}, b: {address: \"" + address("7102") +
                                 "\"}}\n");
  ASSERT_EQ(run_program(scratch, {"keygen", "pair.yaml"}).code, 0);
  std::filesystem::copy(scratch.path() + "/keys", scratch.path() + "/old");
  ASSERT_EQ(run_program(scratch, {"keygen", "pair.yaml", "--renew", "a"}).code, 0);
  Program a(scratch, {"doctor", "pair.yaml", "--name", "a"});
  Program b(scratch, {"doctor", "pair.yaml", "--name", "b", "--keys", "old"});
  const std::string denied = "node b at " + address("7102") +
                             " refuses the key of node a: give both nodes the same list of public "
                             "keys, and start b again\n";
  const std::string wrong = "what listens for node a at " + address("7101") +
                            " does not hold the key that the list gives to a";
  EXPECT_TRUE(a.says(denied));
  EXPECT_TRUE(b.says(wrong));
  a.signal(SIGINT);
  b.signal(SIGINT);
  const Ended of_a = a.wait(), of_b = b.wait();
  EXPECT_EQ(of_a.code, 1);
  EXPECT_EQ(of_b.code, 1);
  EXPECT_THAT(of_a.out, HasSubstr("  a->b          NOT     " + denied));
  EXPECT_THAT(of_b.out, HasSubstr("  b->a          NOT     " + wrong));
  EXPECT_TRUE(Program::all_gone());
}

TEST(Security, GivingItUpWhereOtherMachinesReachANodeIsSaid) {
  const Scratch scratch;
  std::string text = read_text(KIMESH_SOURCE_DIR "/topologies/ring4.yaml");
  text = std::regex_replace(text, std::regex("127\\.0\\.0\\.1"), "192.0.2.1");
  scratch.write("open.yaml", text + "security: none\n");
  const Ended open = run_program(scratch, {"check", "open.yaml"});
  EXPECT_EQ(open.code, 0);
  EXPECT_THAT(open.err, HasSubstr("open.yaml says security: none: whoever reaches the nodes can"));
  scratch.write("closed.yaml", text);
  EXPECT_EQ(run_program(scratch, {"check", "closed.yaml"}).code, 2);
}

}  // namespace
}  // namespace kimesh::test::security_test
