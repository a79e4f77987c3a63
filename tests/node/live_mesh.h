// Live meshes in one process for tests: a thread per node, real sockets on loopback, quadratics.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/link/network.h"
#include "kimesh/node/live_node.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test {

// What one live run left.
struct LiveRun {
  std::vector<std::optional<LiveNodeEnd>> ends;  // [node]; nothing: it did not open
  std::vector<std::string> errors;               // of those
  std::vector<std::string> notices;
  RecordedDecisions decisions;
  [[nodiscard]] bool done() const;
  [[nodiscard]] std::string text() const;
  // x: every shard from its owner.
  [[nodiscard]] std::vector<float> model(const Plan& plan) const;
};

struct LiveOptions {
  std::optional<double> rate_bits_per_s;           // emulated, of every link
  std::vector<NodeIndex> absent;                   // nodes that are not started
  std::function<void(NodeIndex, Round)> on_round;  // on the node's engine thread
  std::function<void(NodeIndex)> on_model{};       // there, where it saves its model
  std::function<void(NodeIndex)> on_end{};         // once it has ended
  std::vector<std::atomic<bool>*> stops;           // [node], may be empty
  std::vector<std::string> versions;               // [node], may be empty
  std::vector<CurveKeys> curves;                   // [node]; empty: not encrypted
  // Where nodes run, when that is not this machine's loopback: tcp://HOST of each node, and what
  // calls a node's `work` there and returns after it.
  std::vector<std::string> hosts;
  std::function<void(NodeIndex, const std::function<void()>& work)> place;
  std::function<void()> on_addresses;  // once they are chosen, before any node starts
  // Changes what a node is made of, and what watches it.
  std::function<void(NodeIndex, LiveNodeSetup&, LiveNodeObserver&)> on_setup;
};

// Keys for a mesh of nodes n0, n1, ...: by node, each with the list of all.
[[nodiscard]] std::vector<CurveKeys> keys_of(std::size_t nodes);

// Runs `mesh` live instead of simulated: same plan, same problem, same core options. Addresses are
// free ports of this machine.
[[nodiscard]] LiveRun run_live(Mesh& mesh, const LiveOptions& options = {});

// Somebody who dials n0 and says that it is this node, without any of the mesh's files.
inline NetworkOptions options_of_impostor(const Mesh& mesh, NodeIndex claimed) {
  NetworkOptions options;
  options.self = claimed;
  options.listen = "tcp://127.0.0.1:*";
  options.hello.from = mesh.topology.nodes[claimed].name;
  options.hello.incarnation = 1;
  options.outgoing.push_back({0, 0, "n0", mesh.topology.nodes[0].address, {}});
  return options;
}

}  // namespace kimesh::test
