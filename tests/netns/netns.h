// Networks of real interfaces on one machine, for tests and benchmarks: namespaces joined by veth
// pairs, each end shaped by a token bucket of the kernel (tc tbf). Needs Linux, root and iproute2.
// Namespaces have no names: each ends with the last descriptor and thread in it, and takes its
// interfaces with it, so nothing is left behind even when a test dies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh::test {

// A network namespace with only its loopback up. Move-only.
class NetNamespace {
 public:
  // Errors: Network, with why this machine lets us make none.
  [[nodiscard]] static Result<NetNamespace> make();
  NetNamespace(NetNamespace&& other) noexcept;
  NetNamespace& operator=(NetNamespace&& other) noexcept;
  ~NetNamespace();

  // Calls `work` on a thread inside and waits for its end. What it makes stays inside: sockets, and
  // threads with all their sockets, so a whole Network that is started here.
  void inside(const std::function<void()>& work) const;
  // Starts a program inside and gives its process; its output goes to the file `log`.
  [[nodiscard]] pid_t spawn(const std::vector<std::string>& words, const std::string& log) const;
  // Runs a program inside; `line` is split at spaces. Errors: Network, with its last words.
  [[nodiscard]] Status run(const std::string& line) const;
  // A name for `ip link ... netns` as long as this process lives.
  [[nodiscard]] std::string path() const;

 private:
  explicit NetNamespace(int fd) : fd_(fd) {}
  int fd_;
};

// A token bucket. A small one lets no message pass in a burst.
struct Bucket {
  double bits_per_s = 10e6;
  std::size_t burst_bytes = 3200;  // two packets
};

// Nodes 0..n-1, every pair joined by a cable of its own whose two directions are shaped apart.
class ShapedMesh {
 public:
  using Shape = std::function<Bucket(NodeIndex from, NodeIndex to)>;
  [[nodiscard]] static Result<ShapedMesh> make(std::size_t nodes, const Shape& shape);

  [[nodiscard]] const NetNamespace& at(NodeIndex node) const { return nodes_[node]; }
  [[nodiscard]] std::string address(NodeIndex node) const;  // without a port
  // Changes the direction from -> to while traffic flows. What is queued is dropped, as tc does.
  [[nodiscard]] Status shape(NodeIndex from, NodeIndex to, const Bucket& bucket) const;
  // What the interface has sent, with Ethernet, IP and TCP headers; what its queue dropped is not
  // counted.
  [[nodiscard]] std::uint64_t interface_bytes(NodeIndex from, NodeIndex to) const;

 private:
  std::vector<NetNamespace> nodes_;
};

}  // namespace kimesh::test
