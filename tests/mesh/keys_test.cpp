#include "kimesh/mesh/keys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cannot_run.h"

namespace kimesh::keys_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kNodes{"a", "b", "no"};  // the last one is a word of YAML's

class KeyFiles : public testing::Test {
 protected:
  KeyFiles() : folder_(testing::TempDir() + fmt::format("kimesh-keys-{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~KeyFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] unsigned mode(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::stat(path(name).c_str(), &info), 0) << name;
    return info.st_mode & 07777u;
  }
  [[nodiscard]] TopologyFile topology(const std::vector<std::string>& nodes = kNodes) const {
    TopologyFile topology;
    for (const std::string& name : nodes) {
      topology.nodes.emplace_back();
      topology.nodes.back().name = name;
      topology.nodes.back().address = "tcp://10.0.0.1:7101";
    }
    topology.keys_folder = folder_;
    return topology;
  }
  // What load_keys says for node a.
  [[nodiscard]] std::string trouble(const TopologyFile& topology) const {
    const auto keys = load_keys(topology, 0);
    if (keys.ok()) return "none";
    EXPECT_EQ(keys.error().code, ErrorCode::kUserInput);
    return keys.error().message;
  }

  std::string folder_;
};

// Seen to fail: the mode left to the umask.
TEST_F(KeyFiles, SecretsAreTheirOwnersAloneAndTheListIsEverybodys) {
  const mode_t before = ::umask(0);
  const auto made = make_keys(folder_, kNodes);
  ::umask(before);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(made->made, ElementsAre("a", "b", "no"));
  for (const std::string& name : kNodes) EXPECT_EQ(mode(name + ".secret"), 0600u) << name;
  EXPECT_EQ(mode("public.yaml"), 0644u);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) files += entry.exists();
  EXPECT_EQ(files, 4u);
  for (const std::string& name : kNodes) {
    const std::string secret = text(name + ".secret").substr(0, kCurveKeyChars);
    EXPECT_THAT(text("public.yaml"),
                HasSubstr(fmt::format("\"{}\": \"{}\"", name, *public_key_of(secret))));
    EXPECT_EQ(text("public.yaml").find(secret), std::string::npos);
  }
}

TEST_F(KeyFiles, ANodeLoadsItsOwnPairAndThePublicKeysOfItsTopology) {
  ASSERT_TRUE(make_keys(folder_, kNodes).ok());
  std::filesystem::remove(path("b.secret"));
  const auto keys = load_keys(topology({"a", "b"}), 0);
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  ASSERT_TRUE(*keys);
  EXPECT_EQ((*keys)->own.secret_key + "\n", text("a.secret"));
  EXPECT_EQ((*keys)->own.public_key, (*keys)->allowed.at("a"));
  EXPECT_EQ((*keys)->allowed.size(), 2u) << "who is not in the topology is not let in";
  TopologyFile open = topology();
  open.security = Security::kNone;
  EXPECT_FALSE(*load_keys(open, 0));
}

// Seen to fail: an existing pair made anew.
TEST_F(KeyFiles, WhatIsThereIsNotReplacedUnlessItIsNamed) {
  ASSERT_TRUE(make_keys(folder_, {"a", "b"}).ok());
  const std::string a = text("a.secret"), b = text("b.secret"), list = text("public.yaml");
  const auto again = make_keys(folder_, {"a", "b"});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->made.empty() && again->listed.empty());
  EXPECT_EQ(text("a.secret"), a);
  EXPECT_EQ(text("public.yaml"), list);

  std::filesystem::remove(path("b.secret"));  // it has moved to the machine of b
  EXPECT_THAT(make_keys(folder_, {"a", "b", "c"})->made, ElementsAre("c"));
  EXPECT_FALSE(std::filesystem::exists(path("b.secret")));
  EXPECT_EQ(text("a.secret"), a);

  EXPECT_THAT(make_keys(folder_, {"a", "b", "c"}, {"a"})->made, ElementsAre("a"));
  EXPECT_NE(text("a.secret"), a);
  EXPECT_EQ(trouble(topology({"a", "b", "c"})), "none");
  const auto unknown = make_keys(folder_, {"a", "b", "c"}, {"x"});
  EXPECT_THAT(unknown.error().message, HasSubstr("no node 'x'"));
}

TEST_F(KeyFiles, ASecretWithoutALineInTheListGetsItsLine) {
  ASSERT_TRUE(make_keys(folder_, {"a", "b"}).ok());
  const std::string list = text("public.yaml"), a = text("a.secret");
  std::filesystem::remove(path("public.yaml"));
  const auto made = make_keys(folder_, {"a", "b"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(made->made, ElementsAre());
  EXPECT_THAT(made->listed, ElementsAre("a", "b"));
  EXPECT_EQ(text("public.yaml"), list);
  EXPECT_EQ(text("a.secret"), a);
}

// Seen to fail: each check taken away in turn.
TEST_F(KeyFiles, EveryMistakeIsASentenceWithItsRemedy) {
  EXPECT_THAT(trouble(topology()), AllOf(HasSubstr("there is no list of keys at " + folder_),
                                         HasSubstr("kimesh keygen TOPOLOGY --out " + folder_),
                                         HasSubstr("security: none")));
  ASSERT_TRUE(make_keys(folder_, {"a", "b"}).ok());
  EXPECT_THAT(trouble(topology({"a", "b", "c", "d"})), HasSubstr("has no key of c, d. Make what"));
  const std::string list = text("public.yaml"), secret = text("a.secret");
  for (const mode_t open : {0640u, 0604u, 0620u, 0660u, 0601u}) {
    ::chmod(path("a.secret").c_str(), open);
    EXPECT_THAT(trouble(topology({"a", "b"})),
                AllOf(HasSubstr(fmt::format("mode {:04o}", open)), HasSubstr("chmod 600"),
                      Not(HasSubstr(secret.substr(0, 40)))));
  }
  ::chmod(path("a.secret").c_str(), 0400);
  EXPECT_EQ(trouble(topology({"a", "b"})), "none");

  std::filesystem::remove(path("a.secret"));
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("a.secret cannot be read: No such file"));
  EXPECT_TRUE(check_keys(topology({"a", "b"})).ok()) << "a lives on another machine";
  std::filesystem::create_directory(path("a.secret"));
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("is no file"));
  std::filesystem::remove(path("a.secret"));
  const mode_t before = ::umask(077);
  write("a.secret", "not a key\n");
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("holds no key"));
  write("a.secret", text("b.secret"));
  ::umask(before);
  EXPECT_THAT(trouble(topology({"a", "b"})), AllOf(HasSubstr("is not the secret of the key"),
                                                   Not(HasSubstr(text("b.secret").substr(0, 40)))));
  EXPECT_FALSE(check_keys(topology({"a", "b"})).ok());

  const std::string key = *public_key_of(secret.substr(0, kCurveKeyChars));
  write("public.yaml", "a: \"" + key + "\"\nb: \"" + key + "\"\n");
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("public.yaml:2: 'a' and 'b' have the same"));
  write("public.yaml", "a: \"" + key + "\"\nb: short\n");
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("public.yaml:2: 'b' has no key"));
  write("public.yaml", "a: \"" + key + "\"\na: \"" + list.substr(list.size() - 42, 40) + "\"\n");
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("stands there twice"));
  write("public.yaml", "[1, 2]\n");
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("lists no keys"));
  write("public.yaml", "{");
  EXPECT_THAT(trouble(topology({"a", "b"})), HasSubstr("public.yaml:"));
}

// As Kubernetes mounts it. Seen to fail: the owner not looked at.
TEST_F(KeyFiles, ASecretThatRootOwnsMayBeReadByTheGroupOfTheNode) {
  if (::geteuid() != 0) return test::cannot_run("only root can give files away");
  constexpr uid_t kNobody = 65534;
  ASSERT_TRUE(make_keys(folder_, {"a", "b"}).ok());
  ASSERT_EQ(::chown(path("a.secret").c_str(), 0, kNobody), 0);
  const auto as_nobody = [&](mode_t mode) {
    ::chmod(path("a.secret").c_str(), mode);
    EXPECT_EQ(::setegid(kNobody), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
    const std::string said = trouble(topology({"a", "b"}));
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
    return said;
  };
  EXPECT_EQ(as_nobody(0440), "none");
  EXPECT_THAT(as_nobody(0444), HasSubstr("mode 0444"));
  EXPECT_THAT(as_nobody(0460), HasSubstr("mode 0460"));
}

TEST_F(KeyFiles, ATopologyThatGivesEncryptionUpSaysSoWhereItMatters) {
  TopologyFile open = topology();
  EXPECT_EQ(security_notice(open), "");
  open.security = Security::kNone;
  EXPECT_THAT(security_notice(open), HasSubstr("whoever reaches the nodes can read the training"));
  for (NodeSpec& node : open.nodes) node.address = "tcp://127.0.0.1:1";
  EXPECT_EQ(security_notice(open), "");
}

}  // namespace
}  // namespace kimesh::keys_test
