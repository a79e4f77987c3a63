// topologies/README.md shows each shipped file as `kimesh plan` draws it, down to the links.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kimesh/topology/plan.h"

namespace kimesh::readme_test {
namespace {

const std::string kShipped = KIMESH_SOURCE_DIR "/topologies/";

std::string text_at(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string drawing(const std::string& path) {
  const TopologyFile topology = load_topology(path).value;
  const Plan plan = *make_plan(topology, Layout::vector(kNodesMax));
  const std::string text = draw_plan(plan, topology, false);
  return text.substr(0, text.find("\nshard 0"));
}

// Seen to fail without the section of tree7.yaml. Prints what belongs there.
TEST(TopologiesReadme, ShowsEveryShippedFileAsPlanDrawsIt) {
  const std::string readme = text_at(kShipped + "README.md");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kShipped)) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const std::string name = entry.path().filename().string();
    const std::string section = "## " + name + "\n";
    const std::string wanted = "```\n" + drawing(entry.path().string()) + "```\n";
    const std::size_t begin = readme.find(section);
    ASSERT_NE(begin, std::string::npos) << "there is no section for it:\n" << section << wanted;
    const std::string written = readme.substr(begin, readme.find("\n## ", begin) - begin + 1);
    EXPECT_NE(written.find(wanted), std::string::npos) << section << "\n" << wanted;
  }
  EXPECT_GE(files, 8u);
}

}  // namespace
}  // namespace kimesh::readme_test
