#include "src/link/zap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/util/random.h"

namespace kimesh::zap_test {
namespace {

using testing::ElementsAre;

const std::string kKey(32, 'k');
const ZapAllowed kAllowed{{kKey, "a"}};

std::vector<std::string> request() {
  return {"1.0", "1", "kimesh", "10.0.0.9", "", "CURVE", kKey};
}
// The status of the reply to a request with a change; "": there is none.
std::string status(auto change) {
  std::vector<std::string> frames = request();
  change(frames);
  const auto reply = zap_reply(frames, kAllowed);
  return reply ? reply->frames.at(2) : "";
}

// Seen to fail: each of these conditions taken away in turn.
TEST(Zap, LetsInKeysOfTheListAndNothingElse) {
  const auto reply = zap_reply(request(), kAllowed);
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->frames, ElementsAre("1.0", "1", "200", "OK", "a", ""));
  EXPECT_EQ(reply->stranger, "");
  EXPECT_EQ(status([](auto& f) { f[6][0] = 'x'; }), "400");
  EXPECT_EQ(status([](auto& f) { f[6].clear(); }), "400");
  EXPECT_EQ(status([](auto& f) { f[5] = "PLAIN"; }), "400");
  EXPECT_EQ(status([](auto& f) { f[5] = "NULL", f.pop_back(); }), "400");
  EXPECT_EQ(status([](auto& f) { f[2] = "another"; }), "400");
  EXPECT_EQ(status([](auto& f) { f.push_back(kKey); }), "400");
  EXPECT_EQ(status([](auto& f) { f[0] = "2.0"; }), "500");
  EXPECT_EQ(status([](auto& f) { f.resize(1); }), "");
  EXPECT_EQ(status([](auto& f) { f.clear(); }), "");
}

TEST(Zap, TellsWhoseKeyIsNotInTheList) {
  auto frames = request();
  frames[6] = std::string(32, 'x');
  EXPECT_EQ(zap_reply(frames, kAllowed)->stranger, "10.0.0.9");
  frames[3].clear();
  EXPECT_EQ(zap_reply(frames, kAllowed)->stranger, "an unknown address");
}

class Answerer : public testing::Test {
 protected:
  // What came back for these frames; nothing when nothing did.
  std::vector<std::string> ask(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i)
      EXPECT_GE(zmq_send(asker_, frames[i].data(), frames[i].size(),
                         i + 1 < frames.size() ? ZMQ_SNDMORE : 0),
                0);
    stranger_ = answerer_.answer();
    std::vector<std::string> reply;
    for (bool more = true; more;) {
      ZmqPart part;
      if (zmq_msg_recv(part.raw(), asker_, ZMQ_DONTWAIT) < 0) break;
      reply.emplace_back(reinterpret_cast<const char*>(part.bytes().data()), part.bytes().size());
      more = part.more();
    }
    return reply;
  }
  void SetUp() override {
    asker_ = zmq_socket(context_.raw(), ZMQ_DEALER);
    ASSERT_EQ(zmq_connect(asker_, "inproc://zeromq.zap.01"), 0);
  }
  void TearDown() override { zmq_close(asker_); }

  CurvePair pair_ = make_curve_pair();
  ZmqContext context_{16, std::chrono::seconds(15), std::chrono::milliseconds(200)};
  ZapAnswerer answerer_{context_, {{"a", pair_.public_key}}};
  void* asker_ = nullptr;
  std::string stranger_;
};

TEST_F(Answerer, SurvivesRequestsOfAnyShape) {
  Random random(4, 0, 0, Purpose::kTest);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> frames(1 + random.below(40));
    for (std::string& frame : frames) frame.assign(random.below(80), '1');
    EXPECT_NE(ask(frames).size(), 1u);
  }
  auto frames = request();
  frames.insert(frames.begin(), "");
  const auto reply = ask(frames);
  ASSERT_EQ(reply.size(), 7u);
  EXPECT_EQ(reply[3], "400");
  EXPECT_EQ(stranger_, "10.0.0.9");
  std::string key(32, '\0');
  zmq_z85_decode(reinterpret_cast<std::uint8_t*>(key.data()), pair_.public_key.c_str());
  frames.back() = key;
  EXPECT_EQ(ask(frames).at(5), "a");
  EXPECT_EQ(stranger_, "");
}

}  // namespace
}  // namespace kimesh::zap_test
