// What a checkpoint keeps of the search.
#include <gtest/gtest.h>

#include "kimesh/policy/gravac.h"

namespace kimesh::gravac_state_test {
namespace {

// Seen to fail without the window and without the steps' gains.
TEST(GravacSearch, GoesOnFromWhatItHasSaved) {
  GravacOptions options;
  options.epsilon = 0.01;  // no factor is given up, so that each window goes on to the next
  GravacSearch search(options, 4);
  const auto observe = [&](GravacSearch& of, Round round) {
    std::vector<GravacView> views(of.steps().size());
    for (std::size_t i = 0; i < views.size(); ++i)
      views[i] = {1.0 / static_cast<double>(1 + i + round % 3), 0.1 / static_cast<double>(1 + i)};
    of.observe(std::chrono::milliseconds(300), views);
  };
  for (Round round = 0; round < 6; ++round) observe(search, round);
  std::vector<std::byte> bytes;
  {
    StateWriter writer(bytes);
    search.save(writer);
  }
  GravacSearch other(options, 4);
  StateReader reader(bytes);
  other.restore(reader);
  EXPECT_TRUE(reader.finish());
  for (Round round = 8; round < 30; ++round) {
    EXPECT_EQ(other.state(), search.state());
    observe(search, round);
    observe(other, round);
  }
}

}  // namespace
}  // namespace kimesh::gravac_state_test
