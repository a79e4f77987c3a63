// `kimesh up --ssh`: a mesh on other machines, each of them an sshd of this test's own.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/cannot_run.h"
#include "tests/e2e/program.h"
#include "tests/e2e/ssh_server.h"

namespace kimesh::test::ssh_test {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* kConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 8}
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
compression: {policy: fixed, compressor: topk, ratio: 0.05}
stop: {rounds: 60}
checkpoint: {every_rounds: 10}
threads: 1
)";

// Nodes a and b are on one machine, c is on another.
class UpSsh : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) return cannot_run("only root may give an sshd a machine of its own");
    if (!servers.missing.empty()) GTEST_SKIP() << servers.missing;
    for (int machine = 0; machine < 2; ++machine) servers.start();
    if (!servers.why_not.empty()) return cannot_run(servers.why_not);
    scratch.write("config.yaml", kConfig);
    std::string mesh = "kind: ring\nsecurity: curve\ndead_after: 3s\nnodes:\n";
    for (int i = 0; i < 3; ++i)
      mesh += std::string("  ") + "abc"[i] + ": {address: \"tcp://" + own_host() + ":" +
              std::to_string(7101 + i) + "\"}\n";
    scratch.write("mesh.yaml", mesh);
    ASSERT_EQ(run_program(scratch, {"keygen", "mesh.yaml"}).code, 0);
    fs::create_directory(scratch.path() + "/bundle");
    const std::string program = scratch.path() + "/" +
                                scratch.write("bundle/kimesh", std::string("#!/bin/sh\nexec ") +
                                                                   KIMESH_BINARY + " \"$@\"\n");
    fs::permissions(program, fs::perms::owner_all);
    write_hosts();
  }
  void TearDown() override {
    servers.stop_all();
    EXPECT_TRUE(Program::all_gone()) << "something is left running";
  }

  void write_hosts(const std::string& more = "") const {
    scratch.write("hosts.yaml", "bundle: bundle\nfolder: mesh files\n" + servers.options() +
                                    "hosts:\n  a: " + servers.host(0) + "\n  b: " +
                                    servers.host(0) + "\n  c: " + servers.host(1) + "\n" + more);
  }
  [[nodiscard]] static std::vector<std::string> up(const std::string& run) {
    return {"up",         "--ssh",     "hosts.yaml", "--config", "config.yaml",
            "--topology", "mesh.yaml", "--run",      run};
  }
  [[nodiscard]] std::string at(int machine, const std::string& path) const {
    return servers.home(machine) + "/mesh files/" + path;
  }
  // The process of a node on another machine; 0: there is none.
  [[nodiscard]] static pid_t node_process(const std::string& name) {
    const std::string wanted = std::string("--tell-records") + '\0' + "--name" + '\0' + name + '\0';
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string words = read_text(entry.path().string() + "/cmdline");
      if (words.starts_with("kimesh") || words.starts_with(KIMESH_BINARY))
        if (words.find(wanted) != std::string::npos && words.find("sh -c") == std::string::npos)
          return static_cast<pid_t>(std::stol(entry.path().filename().string()));
    }
    return 0;
  }

  const Scratch scratch;
  SshServers servers{scratch};
};

TEST_F(UpSsh, TrainsOnOtherMachinesToTheBitsOfThisOne) {
  const Ended here = run_program(
      scratch, {"up", "--config", "config.yaml", "--topology", "mesh.yaml", "--run", "here"});
  ASSERT_EQ(here.code, 0) << here.err;
  const Ended there = run_program(scratch, up("there"));
  ASSERT_EQ(there.code, 0) << there.out << there.err;
  EXPECT_THAT(there.out, HasSubstr("all rounds were made"));
  EXPECT_TRUE(read_text(scratch.run_file("there", "model.safetensors")) ==
              read_text(scratch.run_file("here", "model.safetensors")));
  for (const char* name : {"a", "b", "c"})
    for (const char* file : {".jsonl", ".decisions.jsonl", ".safetensors"})
      EXPECT_TRUE(fs::exists(scratch.run_file("there", std::string("nodes/") + name + file)))
          << name << file;
  EXPECT_EQ(read_text(scratch.run_file("there", "nodes/c.jsonl")),
            read_text(at(1, "runs/there/nodes/c.jsonl")))
      << "lines that came while it ran, and the rest";
  const Ended replay =
      run_program(scratch, {"simulate", "--config", "config.yaml", "--topology", "mesh.yaml",
                            "--replay", "runs/there", "--run", "again"});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_TRUE(read_text(scratch.run_file("there", "model.safetensors")) ==
              read_text(scratch.run_file("again", "model.safetensors")));

  // The second run finds the program there.
  EXPECT_THAT(there.out, HasSubstr("the program is copied"));
  const Ended second = run_program(scratch, up("second"));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.out, Not(HasSubstr("the program is copied")));
}

// Seen to fail: secret keys left there at the end; those of all nodes sent to all machines.
TEST_F(UpSsh, SecretKeysAreWhereTheirNodesAreAndOnlyAsLongAsTheseRun) {
  scratch.write("config.yaml", kEndlessConfig);
  Program program(scratch, up("keys"));
  ASSERT_TRUE(program.says("round")) << program.wait().err;
  std::set<std::string> first, second;
  for (const auto& entry : fs::directory_iterator(at(0, "keys-keys")))
    first.insert(entry.path().filename());
  for (const auto& entry : fs::directory_iterator(at(1, "keys-keys")))
    second.insert(entry.path().filename());
  EXPECT_EQ(first, (std::set<std::string>{"a.secret", "b.secret", "public.yaml"}));
  EXPECT_EQ(second, (std::set<std::string>{"c.secret", "public.yaml"}));
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_FALSE(fs::exists(at(0, "keys-keys/a.secret")));
  EXPECT_FALSE(fs::exists(at(1, "keys-keys/c.secret")));
  EXPECT_TRUE(fs::exists(scratch.run_file("keys", "model.safetensors")));
  EXPECT_EQ(scratch.summary("keys")["outcome"], "stopped");
}

TEST_F(UpSsh, ANodeThatIsKilledThereEndsAllAndIsNamed) {
  scratch.write("config.yaml", kEndlessConfig);
  Program program(scratch, up("killed"));
  ASSERT_TRUE(program.says("round")) << program.wait().err;
  const pid_t node = node_process("c");
  ASSERT_GT(node, 0);
  ASSERT_EQ(::kill(node, SIGKILL), 0);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("node c was killed by signal 9"));
  EXPECT_TRUE(fs::exists(scratch.run_file("killed", "model.safetensors")));
}

// Seen to fail: the end of its input not told to the node.
TEST_F(UpSsh, NodesDoNotOutliveWhoStartedThem) {
  scratch.write("config.yaml", kEndlessConfig);
  {
    Program program(scratch, up("left"));
    ASSERT_TRUE(program.says("round")) << program.wait().err;
    program.signal(SIGKILL);
    program.wait();
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (node_process("a") != 0 || node_process("c") != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nodes run for ever";
    std::this_thread::yield();
  }
  EXPECT_TRUE(fs::exists(at(1, "runs/left/nodes/c.safetensors"))) << "it saved what it had";
}

// Its links are not encrypted, since all of them are on loopback and nothing else is written.
TEST_F(UpSsh, GoesOnFromCheckpointsThatLieThere) {
  std::string mesh = read_text(scratch.path() + "/mesh.yaml");
  scratch.write("mesh.yaml", mesh.erase(mesh.find("security: curve\n"), 16));
  ASSERT_EQ(run_program(scratch, up("whole")).code, 0);
  {
    Program program(scratch, up("broken"));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!fs::exists(at(1, "runs/broken/checkpoints/c/19.checkpoint")))
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    for (const char* name : {"a", "b", "c"})
      if (const pid_t node = node_process(name); node > 0) ::kill(node, SIGKILL);
    program.wait();
  }
  const Ended again =
      run_program(scratch, {"up", "--ssh", "hosts.yaml", "--resume", "runs/broken"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_TRUE(read_text(scratch.run_file("broken", "model.safetensors")) ==
              read_text(scratch.run_file("whole", "model.safetensors")));
  EXPECT_EQ(scratch.summary("broken")["rounds"], scratch.summary("whole")["rounds"]);
}

// Seen to fail: the folder of the copy left there.
TEST_F(UpSsh, AProgramThatCannotBeUnpackedThereLeavesNoFolder) {
  const std::string tools = scratch.path() + "/tools", path = std::getenv("PATH");
  fs::create_directory(tools);
  scratch.write("tools/gzip", "#!/bin/sh\ncat >/dev/null\necho no archive\n");
  fs::permissions(tools + "/gzip", fs::perms::owner_all);
  ::setenv("PATH", (tools + ":" + path).c_str(), 1);
  const Ended ended = run_program(scratch, up("none"));
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("not in gzip format"));
  for (int machine = 0; machine < 2; ++machine)
    EXPECT_TRUE(fs::is_empty(at(machine, ""))) << "on machine " << machine;
}

TEST_F(UpSsh, SaysWhatKeepsItFromStarting) {
  const auto refused = [&](int code) {
    const Ended ended = run_program(scratch, up("none"));
    EXPECT_FALSE(fs::exists(scratch.run_file("none", ""))) << "a run that did not begin";
    EXPECT_EQ(ended.code, code) << ended.out;
    return ended.err;
  };
  write_hosts("  d: {ssh: nowhere}\n");
  EXPECT_THAT(refused(2), HasSubstr("hosts.yaml:8: the topology has no node d"));
  scratch.write("hosts.yaml", "bundle: bundle\nhosts:\n  a: {ssh: x}\n");
  EXPECT_THAT(refused(2), HasSubstr("node b has no machine"));
  write_hosts();
  fs::rename(scratch.path() + "/bundle", scratch.path() + "/elsewhere");
  EXPECT_THAT(refused(2), HasSubstr("./dev bundle"));
  fs::rename(scratch.path() + "/elsewhere", scratch.path() + "/bundle");
  fs::remove(servers.home(1) + "/.ssh/authorized_keys");
  EXPECT_THAT(refused(1), HasSubstr("Permission denied"));
  // Seen to fail: they stayed.
  EXPECT_FALSE(fs::exists(at(0, "keys-none"))) << "secret keys of a run that did not begin";
}

}  // namespace
}  // namespace kimesh::test::ssh_test
