#include <set>

#include "kimesh/topology/topology_file.h"
#include "tests/config/damaged_file.h"
#include "tests/shipped.h"

namespace kimesh::damage_test {
namespace {

TEST(DamagedFiles, GetAnAnswerAsTopologies) {
  std::set<std::string> kinds;  // one file of each
  for (const std::string& name : test::shipped_topologies())
    if (kinds.insert(load_topology(test::shipped_path(name)).value.kind->kind_name()).second)
      expect_answers("/topologies/" + name + ".yaml",
                     [](const std::string& path) { return load_topology(path); });
}

}  // namespace
}  // namespace kimesh::damage_test
