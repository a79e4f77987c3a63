#include "tests/netns/netns.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "kimesh/util/check.h"

namespace kimesh::test {
namespace {

Error network_error(std::string what) {
  return {ErrorCode::kNetwork, std::move(what)};
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Becomes the program: between fork and exec only calls that a signal handler may make.
[[noreturn]] void become(int ns, int output, char* const* words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing outlives a benchmark that is interrupted
  if (::setns(ns, CLONE_NEWNET) == 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
      ::dup2(output, STDERR_FILENO) >= 0)
    ::execvp(words[0], words);
  ::_exit(127);
}

pid_t start(int ns, int output, const std::vector<std::string>& words) {
  std::vector<char*> raw;
  for (const std::string& word : words) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  const pid_t child = ::fork();
  KIMESH_CHECK(child >= 0, "a process can be started");
  if (child == 0) become(ns, output, raw.data());
  return child;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got; (got = ::read(fd, part.data(), part.size())) != 0;) {
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  return text;
}

std::string cable_to(NodeIndex node) {
  return "to" + std::to_string(node);
}

std::string tbf(const char* verb, NodeIndex to, const Bucket& bucket) {
  std::ostringstream line;
  // The queue holds 200 ms, as home routers do, and at least a few packets.
  line << "tc qdisc " << verb << " dev " << cable_to(to) << " root tbf rate "
       << static_cast<std::uint64_t>(bucket.bits_per_s) << " burst " << bucket.burst_bytes
       << " latency 200ms";
  return line.str();
}

}  // namespace

Result<NetNamespace> NetNamespace::make() {
  int fd = -1, why = 0;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) == 0) fd = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    why = errno;
  }).join();
  if (fd < 0)
    return network_error(std::string("this machine lets us make no network namespace: ") +
                         std::strerror(why));
  NetNamespace made(fd);
  if (auto up = made.run("ip link set lo up"); !up) return up.error();
  return made;
}

NetNamespace::NetNamespace(NetNamespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
NetNamespace& NetNamespace::operator=(NetNamespace&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
NetNamespace::~NetNamespace() {
  if (fd_ >= 0) ::close(fd_);
}

void NetNamespace::inside(const std::function<void()>& work) const {
  std::thread([&] {
    KIMESH_CHECK(::setns(fd_, CLONE_NEWNET) == 0, "a thread may enter a namespace of ours");
    work();
  }).join();
}

pid_t NetNamespace::spawn(const std::vector<std::string>& words, const std::string& log) const {
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  KIMESH_CHECK(output >= 0, "the log can be written");
  const pid_t child = start(fd_, output, words);
  ::close(output);
  return child;
}

Status NetNamespace::run(const std::string& line) const {
  std::array<int, 2> ends{};
  KIMESH_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe");
  const pid_t child = start(fd_, ends[1], words_of(line));
  ::close(ends[1]);
  const std::string said = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ok_status();
  return network_error("`" + line + "` failed: " + said);
}

std::string NetNamespace::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
}

// A node's address lies on its loopback; the others reach it by the cable to it, so one address
// serves all and each pair of nodes has a direction of its own to be shaped.
Result<ShapedMesh> ShapedMesh::make(std::size_t nodes, const Shape& shape) {
  ShapedMesh mesh;
  std::vector<std::pair<NodeIndex, std::string>> lines;
  for (NodeIndex i = 0; i < nodes; ++i) {
    auto made = NetNamespace::make();
    if (!made) return made.error();
    mesh.nodes_.push_back(std::move(*made));
    lines.emplace_back(i, "ip address add " + mesh.address(i) + "/32 dev lo");
    for (NodeIndex j = 0; j < i; ++j)
      lines.emplace_back(i, "ip link add " + cable_to(j) + " type veth peer name " + cable_to(i) +
                                " netns " + mesh.nodes_[j].path());
  }
  for (NodeIndex i = 0; i < nodes; ++i)
    for (NodeIndex j = 0; j < nodes; ++j) {
      if (i == j) continue;
      // Packets of one segment: a cable carries no 64 KB at once, a veth pair would.
      lines.emplace_back(i, "ip link set " + cable_to(j) + " gso_max_segs 1 up");
      lines.emplace_back(i, "ip route add " + mesh.address(j) + "/32 dev " + cable_to(j) + " src " +
                                mesh.address(i));
      lines.emplace_back(i, tbf("add", j, shape(i, j)));
    }
  for (const auto& [node, line] : lines)
    if (auto done = mesh.at(node).run(line); !done) return done.error();
  return mesh;
}

std::string ShapedMesh::address(NodeIndex node) const {
  return "10.77." + std::to_string(node / 250) + "." + std::to_string(1 + node % 250);
}

Status ShapedMesh::shape(NodeIndex from, NodeIndex to, const Bucket& bucket) const {
  return at(from).run(tbf("change", to, bucket));
}

std::uint64_t ShapedMesh::interface_bytes(NodeIndex from, NodeIndex to) const {
  std::uint64_t sent = 0;
  at(from).inside([&] {
    std::ifstream in("/proc/thread-self/net/dev");
    const std::string name = cable_to(to) + ":";
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      std::string first, skipped;
      if (!(fields >> first) || first != name) continue;
      for (int received = 0; received < 8; ++received) fields >> skipped;
      fields >> sent;
    }
  });
  return sent;
}

}  // namespace kimesh::test
