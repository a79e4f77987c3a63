// What a full link carries for its nodes, on links that the kernel shapes (tc tbf), as root only:
// beside one plain TCP stream between the same two namespaces, and with keys beside without.
//   --json FILE   writes the figures
//   --only tcp | curve   one part of them
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/netns/shaped_pair.h"

namespace kimesh::bench {
namespace {

using test::ShapedMesh;
using test::ShapedPair;

constexpr int kAttempts = 3;  // of each side in turn, of which medians are shown
constexpr int kWarmUp = 6;    // messages before anything is counted: TCP looks for the rate
constexpr int kAhead = 3;     // messages that are always on their way
constexpr int kMessages = 24;
constexpr double kMessageSeconds = 0.25;

bool fail(const std::string& sentence) {
  fmt::print(stderr, "bench: {}\n", sentence);
  return false;
}

TimePoint now() {
  return std::chrono::steady_clock::now();
}

struct Load {
  double bits_per_s;
  std::size_t message_bytes;
  int messages;
};
Load load_of(double bits_per_s) {
  return {bits_per_s, static_cast<std::size_t>(kMessageSeconds * bits_per_s / 8), kMessages};
}

struct FullLink {
  double mbit_per_s = 0;   // payload
  double cpu_percent = 0;  // of a core, both ends together, halved
};

// A few messages are always on their way.
std::optional<FullLink> full_link(const Load& load, bool is_encrypted) {
  auto pair = ShapedPair::make({load.bits_per_s}, {}, is_encrypted);
  if (!pair) {
    fail(pair.error().message);
    return std::nullopt;
  }
  for (int i = 0; i < kWarmUp + kAhead; ++i) (*pair)->send(load.message_bytes);
  for (int i = 0; i < kWarmUp; ++i)
    if (!(*pair)->sample()) return std::nullopt;
  const TimePoint begin = now();
  const double cpu_begin = cpu_seconds();
  for (int i = 0; i < load.messages; ++i) {
    (*pair)->send(load.message_bytes);
    if (!(*pair)->sample()) return std::nullopt;
    while ((*pair)->take_at_b()) {
    }
  }
  const double seconds = to_seconds(now() - begin);
  const double bytes = static_cast<double>(load.message_bytes) * load.messages;
  return FullLink{8e-6 * bytes / seconds, 100 * (cpu_seconds() - cpu_begin) / seconds / 2};
}

// ---- plain TCP

struct Socket {
  int fd = -1;
  explicit Socket(int the_fd) : fd(the_fd) {}
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
};

sockaddr_in place(const std::string& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(7001);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

void send_for_ever(int fd) {
  const std::vector<char> some(256 * 1024);
  while (::send(fd, some.data(), some.size(), MSG_NOSIGNAL) > 0) {
  }
}

// Mbit/s of what arrives, once as much has arrived as the messages of the warm-up hold.
double received(int fd, const Load& load) {
  std::vector<char> some(256 * 1024);
  const auto read = [&](double bytes) {
    double got = 0;
    while (got < bytes) {
      const ssize_t count = ::recv(fd, some.data(), some.size(), 0);
      if (count <= 0) return 0.0;
      got += static_cast<double>(count);
    }
    return got;
  };
  const auto message = static_cast<double>(load.message_bytes);
  if (read(kWarmUp * message) <= 0) return 0;
  const TimePoint begin = now();
  const double got = read(load.messages * message);
  return 8e-6 * got / to_seconds(now() - begin);
}

std::optional<double> plain_tcp(const Load& load) {
  auto mesh =
      ShapedMesh::make(2, [&](NodeIndex, NodeIndex) { return test::Bucket{load.bits_per_s}; });
  if (!mesh) {
    fail(mesh.error().message);
    return std::nullopt;
  }
  const sockaddr_in at = place(mesh->address(1));
  const auto* address = reinterpret_cast<const sockaddr*>(&at);
  int listener = -1;
  mesh->at(1).inside([&] { listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  const Socket listening(listener);
  if (::bind(listener, address, sizeof(at)) != 0 || ::listen(listener, 1) != 0) return std::nullopt;
  int sender = -1;
  mesh->at(0).inside([&] { sender = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  const Socket sending(sender);
  if (::connect(sender, address, sizeof(at)) != 0) return std::nullopt;
  const Socket receiving(::accept(listener, nullptr, nullptr));
  std::thread thread([&] { send_for_ever(sender); });
  const double rate = received(receiving.fd, load);
  ::shutdown(receiving.fd, SHUT_RDWR);
  ::shutdown(sender, SHUT_RDWR);
  thread.join();
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

// ---- figures

bool beside_tcp(Figures& figures) {
  for (const double bits_per_s : {1e6, 10e6, 100e6, 500e6}) {
    const Load load = load_of(bits_per_s);
    std::vector<double> tcp, link, ratio;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const auto plain = plain_tcp(load);
      const auto full = full_link(load, false);
      if (!plain || !full) return fail("a stream ended");
      tcp.push_back(*plain);
      link.push_back(full->mbit_per_s);
      ratio.push_back(100 * full->mbit_per_s / *plain);
    }
    const std::string name = fmt::format("{:g} Mbit/s", bits_per_s / 1e6);
    figures.add(name + ": one TCP stream", "Mbit/s", tcp);
    figures.add(name + ": payload of a full link", "Mbit/s", link);
    figures.add(name + ": link over TCP", "%", ratio);
  }
  return true;
}

bool cost_of_encryption(Figures& figures) {
  const Load load = load_of(200e6);
  std::vector<double> ratio;
  std::vector<FullLink> open, coded;
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    for (const bool is_encrypted : {false, true}) {
      const auto full = full_link(load, is_encrypted);
      if (!full) return fail("no ack came");
      (is_encrypted ? coded : open).push_back(*full);
    }
  for (int i = 0; i < kAttempts; ++i)
    ratio.push_back(100 * coded[static_cast<std::size_t>(i)].mbit_per_s /
                    open[static_cast<std::size_t>(i)].mbit_per_s);
  for (const bool is_encrypted : {false, true}) {
    std::vector<double> goodput, cpu;
    for (const FullLink& full : is_encrypted ? coded : open) {
      goodput.push_back(full.mbit_per_s);
      cpu.push_back(full.cpu_percent);
    }
    const std::string name =
        fmt::format("200 Mbit/s, {}", is_encrypted ? "encrypted" : "not encrypted");
    figures.add(name + ": goodput", "Mbit/s", goodput);
    figures.add(name + ": CPU of a side", "% of a core", cpu);
  }
  figures.add("200 Mbit/s: encrypted over not", "%", ratio);
  return true;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  using namespace kimesh::bench;
  const Arguments said(count, words, {"--only", "--json"});
  fmt::print("{}\n", machine());
  const std::string only = said("--only");
  Figures figures;
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  const bool good =
      (!wanted("tcp") || beside_tcp(figures)) && (!wanted("curve") || cost_of_encryption(figures));
  return figures.write(said("--json")) && good ? 0 : 1;
}
