// Which sentences get through, where many are caused by one source.
#include "src/link/event_gate.h"

#include <gtest/gtest.h>

namespace kimesh::event_gate_test {
namespace {

struct Gate : testing::Test {
  std::vector<std::string> told;
  EventGate gate{[this](NetworkEvent& event) {
    told.push_back(std::get<PeerRefused>(event).sentence);
    return true;
  }};
};

TEST_F(Gate, LetsEachSentenceOfASourceThroughOnce) {
  gate.push_once({"no"}, {});
  gate.push_once({"no"}, {});
  gate.push_once({"no"}, EventGate::peer(1));
  gate.push_once({"no"}, EventGate::peer(2));
  EXPECT_EQ(told, std::vector<std::string>(3, "no"));
}

// Seen to fail: one limit for all.
TEST_F(Gate, IsClosedByNoSourceForAnother) {
  const EventGate::Source claim{EventGate::Cause::kClaim, 1};
  for (int i = 0; i < 1000; ++i) {
    gate.push_once({"stranger " + std::to_string(i)}, {});
    gate.push_once({"claim " + std::to_string(i)}, claim);
  }
  EXPECT_LT(told.size(), 200u);
  told.clear();
  gate.push_once({"another claim"}, {EventGate::Cause::kClaim, 2});
  gate.push_once({"the peer"}, EventGate::peer(1));
  EXPECT_EQ(told, (std::vector<std::string>{"another claim", "the peer"}));
}

}  // namespace
}  // namespace kimesh::event_gate_test
