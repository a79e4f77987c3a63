// Meshes in containers: the image under test, and compose projects that are gone at the end.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/e2e/command.h"

namespace kimesh::test {

// A name for this test process alone, so that two checkouts can test at once.
inline std::string own_name() {
  return "kimesh-test-" + std::to_string(::getpid());
}
// The image under test: the one that ctest has had made, else one of this process.
inline bool image_is_given() {
  return std::getenv("KIMESH_TEST_IMAGE") != nullptr;
}
inline std::string own_image() {
  return image_is_given() ? std::getenv("KIMESH_TEST_IMAGE") : "kimesh:" + own_name();
}

inline std::string without_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// A folder that is gone at the end, which containers can read.
class SharedScratch {
 public:
  SharedScratch() {
    std::string name = (std::filesystem::temp_directory_path() / "kimesh-docker-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = name;
    using std::filesystem::perms;
    std::filesystem::permissions(
        path_, perms::owner_all | perms::group_all | perms::others_read | perms::others_exec);
  }
  ~SharedScratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  SharedScratch(const SharedScratch&) = delete;
  SharedScratch& operator=(const SharedScratch&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
  }

 private:
  std::string path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One compose project. Services are called a, b, c and d.
class Mesh {
 public:
  Mesh(std::vector<std::string> files, std::map<std::string, std::string> environment)
      : files_(std::move(files)), environment_(std::move(environment)) {
    environment_["KIMESH_IMAGE"] = own_image();
  }
  ~Mesh() { compose({"down", "--volumes", "--timeout", "1"}); }
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  void up() {
    const CommandEnd ended = compose({"up", "--detach", "--no-build"});
    EXPECT_EQ(ended.code, 0) << ended.said;
  }

  CommandEnd compose(const std::vector<std::string>& rest) const {
    std::vector<std::string> words{"env"};
    for (const auto& [name, value] : environment_) words.push_back(name + "=" + value);
    words.insert(words.end(), program().begin(), program().end());
    words.insert(words.end(), {"--project-name", own_name()});
    for (const std::string& file : files_) words.insert(words.end(), {"--file", file});
    words.insert(words.end(), rest.begin(), rest.end());
    return run_command(words);
  }

  // The container of a service, running or not.
  [[nodiscard]] std::string container(const std::string& service) const {
    const std::string label = "label=com.docker.compose.";
    const CommandEnd found =
        run_command({"docker", "ps", "--all", "--quiet", "--filter",
                     label + "project=" + own_name(), "--filter", label + "service=" + service});
    EXPECT_FALSE(found.said.empty()) << "no container of " << service;
    return without_newline(found.said);
  }

  [[nodiscard]] std::string logs(const std::string& service) const {
    return run_command({"docker", "logs", container(service)}).said;
  }
  // Waits until the service has said `text`.
  [[nodiscard]] bool says(const std::string& service, const std::string& text) const {
    return Command({"docker", "logs", "--follow", container(service)}).says(text);
  }
  // Waits until it has said `text` so many times in all, and `then` behind the last of them. It may
  // be started again meanwhile.
  [[nodiscard]] bool says_again(const std::string& service, const std::string& text, int times,
                                const std::string& then) const {
    const auto deadline = std::chrono::steady_clock::now() + kCommandPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      Command log({"docker", "logs", "--follow", container(service)});
      do {
        if (has_said(log.said(), text, times, then)) return true;
      } while (log.says_more());
      if (inspect(service, ".State.Status") == "exited") return false;  // nothing starts it again
    }
    return false;
  }
  // How many times it has said `text` so far.
  [[nodiscard]] int times_said(const std::string& service, const std::string& text) const {
    const std::string log = logs(service);
    int times = 0;
    for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
      ++times;
    return times;
  }
  // A field of `docker inspect`, such as .State.Pid.
  [[nodiscard]] std::string inspect(const std::string& service, const std::string& field) const {
    return without_newline(
        run_command({"docker", "inspect", "--format", "{{" + field + "}}", container(service)})
            .said);
  }
  // Kills the first process of the container, as the kernel might: `docker kill` is a wish of its
  // user's, after which the container stays as it is.
  void kill_process(const std::string& service) const {
    const auto process = static_cast<pid_t>(std::atol(inspect(service, ".State.Pid").c_str()));
    ASSERT_GT(process, 0) << service << " does not run";
    EXPECT_EQ(::kill(process, SIGKILL), 0);
  }
  // Waits for the end of its container.
  [[nodiscard]] std::string exit_code(const std::string& service) const {
    return without_newline(run_command({"docker", "wait", container(service)}).said);
  }
  // Copies what the service left to `folder`, which does not exist yet.
  void fetch_runs(const std::string& service, const std::string& folder) const {
    const CommandEnd copied =
        run_command({"docker", "cp", container(service) + ":/kimesh/runs", folder});
    EXPECT_EQ(copied.code, 0) << copied.said;
  }

 private:
  static bool has_said(const std::string& log, const std::string& text, int times,
                       const std::string& then) {
    std::size_t at = 0;
    for (int i = 0; i < times; ++i) {
      at = log.find(text, at);
      if (at == std::string::npos) return false;
      at += text.size();
    }
    return log.find(then, at) != std::string::npos;
  }
  // Compose 2 is a word of docker's, 1.29 a program of its own.
  static const std::vector<std::string>& program() {
    static const std::vector<std::string> words =
        run_command({"docker", "compose", "version"}).code == 0
            ? std::vector<std::string>{"docker", "compose"}
            : std::vector<std::string>{"docker-compose"};
    return words;
  }

  std::vector<std::string> files_;
  std::map<std::string, std::string> environment_;
};

}  // namespace kimesh::test
