// The scripts for people refuse a wrong word before they do anything.
#include <gmock/gmock.h>

#include "tests/e2e/command.h"
#include "tests/e2e/program.h"

namespace kimesh::test::scripts_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Stand-ins for the programs that would change the machine: they say so, and fail.
class Scripts : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(scratch.path() + "/bin");
    for (const char* name : {"dpkg-query", "apt-get", "sudo", "docker", "cmake", "debootstrap"}) {
      const std::string path = std::string("bin/") + name;
      scratch.write(path, "#!/bin/sh\necho something is done >&2\nexit 1\n");
      std::filesystem::permissions(scratch.path() + "/" + path, std::filesystem::perms::owner_all);
    }
  }
  [[nodiscard]] CommandEnd run(const std::string& script, std::vector<std::string> words) const {
    words.insert(words.begin(), {"env", "PATH=" + scratch.path() + "/bin:/usr/bin:/bin", "bash",
                                 KIMESH_SOURCE_DIR "/" + script});
    return run_command(words);
  }
  void expect_refusal(const std::string& script, const std::vector<std::string>& words,
                      const std::string& sentence) const {
    const CommandEnd ended = run(script, words);
    EXPECT_EQ(ended.code, 2) << ended.said;
    EXPECT_THAT(ended.said, HasSubstr(sentence));
    EXPECT_THAT(ended.said, Not(HasSubstr("something is done")));
  }

  const Scratch scratch;
};

// Seen to fail: checks that come after the setup.
TEST_F(Scripts, DevRefusesAPresetOrABenchmarkThatIsNotThere) {
  expect_refusal("dev", {"build", "relase"}, "dev: there is no preset relase: write release, ");
  expect_refusal("dev", {"bench", "al locate"}, "dev: there is no tests/bench/al locate.cpp; ");
  EXPECT_THAT(run("dev", {"build", "release"}).said, HasSubstr("something is done"));
}

// Seen to fail: a file that is looked for once the image's base is there.
TEST_F(Scripts, TheImagesBuildRefusesAValueThatIsNotThere) {
  const std::string build = "docker/build.sh";
  expect_refusal(build, {"--tag"}, "image: --tag lacks its value");
  expect_refusal(build, {"--program", "none"}, "image: --program: there is no file none");
  expect_refusal(build, {"--certificates", "none"}, "image: --certificates: there is no folder");
  EXPECT_EQ(run(build, {"--program", KIMESH_BINARY}).code, 1);
}

// Seen to fail: a path that ends at its first space.
TEST_F(Scripts, TheImageTakesLibrariesFromAPathWithSpaces) {
  std::filesystem::create_directories(scratch.path() + "/my libs/lib");
  const std::string library = scratch.path() + "/my libs/lib/libx.so";
  scratch.write("my libs/lib/libx.so", "of a program");
  scratch.write("bin/ldd",
                "#!/bin/sh\necho 'linux-vdso.so.1 (0x7ff0)\n"
                "libx.so => " +
                    library + " (0x7ff1)\nlibc.so.6 => /lib/libc.so.6 (0x7ff2)'\n");
  std::filesystem::permissions(scratch.path() + "/bin/ldd", std::filesystem::perms::owner_all);
  const std::string folder = scratch.path() + "/an image";
  const CommandEnd ended = run("docker/collect.sh", {KIMESH_BINARY, folder});
  EXPECT_EQ(ended.code, 0) << ended.said;
  EXPECT_EQ(read_text(folder + "/lib/libx.so"), "of a program");
  EXPECT_FALSE(std::filesystem::exists(folder + "/lib/libc.so.6")) << "Debian's are in the image";
}

}  // namespace
}  // namespace kimesh::test::scripts_test
