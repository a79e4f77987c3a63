#include "kimesh/topology/topology_file.h"
#include "tests/config/damaged_file.h"

namespace kimesh {
namespace {

TEST(DamagedFiles, GetAnAnswerAsTopologies) {
  expect_answers("/topologies/ps4-single.yaml", load_topology);
  expect_answers("/topologies/ring4-sinusoid.yaml", load_topology);
  expect_answers("/topologies/two-sites.yaml", load_topology);
  expect_answers("/topologies/graph5.yaml", load_topology);
}

}  // namespace
}  // namespace kimesh
