// Runs, and runs that went on, are told apart by their numbers: nobody goes on from a mixture.
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "kimesh/compress/codecs.h"
#include "tests/sim/states.h"

namespace kimesh::test::lineage_test {
namespace {

MeshSpec spec_of(const std::string& kind) {
  MeshSpec spec;
  spec.kind = kind;
  spec.optimizer.lr = 0.05;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.2"}}), make_codec("topk")};
  spec.core.stop_rounds = 40;
  spec.core.checkpoints.every_rounds = 6;
  return spec;
}

// The lineage that all nodes of a mesh have; 0: they do not agree on one.
std::uint64_t lineage_of(const Mesh& mesh) {
  const std::uint64_t first = mesh.simulator->core(0).lineage();
  for (NodeIndex i = 1; i < mesh.spec.nodes; ++i)
    if (mesh.simulator->core(i).lineage() != first) return 0;
  return first;
}

// Runs a mesh in which only the owner of shard 0 counts with its number.
void run_as(Mesh& mesh, std::uint64_t lineage) {
  for (NodeIndex i = 0; i < mesh.spec.nodes; ++i)
    mesh.setup.nodes[i].core.checkpoints.lineage = lineage + 1000 * i;
  mesh.run();
}

void copy(const States& from, States& to) {
  to.states = from.states;
  to.lineages = from.lineages;
}

// One run is killed and goes on in two ways. Seen to fail: nodes that take any checkpoint of the
// round for one of theirs.
TEST(Resume, RefusesCheckpointsOfOneRunThatWentOnInTwoWays) {
  for (const char* kind : {"ring", "parameter_server", "tree"}) {
    SCOPED_TRACE(kind);
    const MeshSpec spec = spec_of(kind);
    Mesh first(spec);
    const AllStates begun = stores(spec.nodes);
    store_in(first, begun);
    for (SimulatedNode& node : first.setup.nodes) node.core.stop_rounds = 10;
    run_as(first, 50);
    EXPECT_EQ(lineage_of(first) % 1000, 50u);
    ASSERT_FALSE(begun[0]->states.empty());

    std::vector<AllStates> ways;
    for (const std::uint64_t lineage : {60u, 70u}) {
      AllStates& states = ways.emplace_back(stores(spec.nodes));
      for (std::size_t i = 0; i < spec.nodes; ++i) copy(*begun[i], *states[i]);
      Mesh mesh(spec);
      resume(mesh, states);
      run_as(mesh, lineage);
      ASSERT_TRUE(mesh.done()) << mesh.ends();
      EXPECT_EQ(lineage_of(mesh) % 1000, lineage);
    }
    ASSERT_EQ(ways[0][1]->states.rbegin()->first, ways[1][1]->states.rbegin()->first);

    // Node 1 brings what the other way has left; then that it has one round less.
    for (const bool is_behind : {false, true}) {
      AllStates mixed = stores(spec.nodes);
      for (std::size_t i = 0; i < spec.nodes; ++i) copy(*ways[i == 1 ? 1 : 0][i], *mixed[i]);
      if (is_behind) mixed[1]->states.erase(std::prev(mixed[1]->states.end()));
      Mesh mesh(spec);
      resume(mesh, mixed);
      run_as(mesh, 80);
      for (NodeIndex i = 0; i < spec.nodes; ++i) {
        EXPECT_EQ(mesh.simulator->end(i).outcome, Outcome::kFailed);
        EXPECT_NE(
            mesh.simulator->end(i).text.find(is_behind ? "of another run" : "of different runs"),
            std::string::npos)
            << mesh.simulator->end(i).text;
      }
    }
  }
}

}  // namespace
}  // namespace kimesh::test::lineage_test
