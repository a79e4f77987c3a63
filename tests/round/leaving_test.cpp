// The end of a run as one core sees it, event by event.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/round/hand.h"

namespace kimesh::test::leaving_test {
namespace {

// n0 of a ring of three in a run of two rounds. The test plays n1 and n2. They answer every message
// of n0 but its first reduce of n1's shard, and send their own messages without waiting for n0's.
class RingOfThree {
 public:
  RingOfThree() : hand_(ring_of(3), 0, ending_soon()) {
    hand_.core.start(now_, actions_);
    carry_out();
  }
  void round_is(Round round, bool confirmation) {
    if (!confirmation) feed(GradientDone{round, 1.0, {}});
    for (ShardIndex shard = 0; shard < (confirmation ? 1u : 3u); ++shard)
      for (const Phase phase : {Phase::kReduce, Phase::kGather}) {
        const NodeChannels& here = hand_.plan.node_channels[shard][0];
        if (phase == Phase::kReduce ? here.reduce_in.empty() : !here.gather_in) continue;
        MessageArrived arrived = hand_.from(2, shard, phase, round, 2);
        if (confirmation) arrived.message.form = Form::kEmpty;
        feed(std::move(arrived));
      }
  }
  void feed(Event event) {
    hand_.core.handle(now_, std::move(event), actions_);
    hand_.core.catch_up();
    carry_out();
  }
  std::optional<MessageApplied> unanswered;
  bool said_bye = false;
  unsigned begun_behind_bye = 0;

 private:
  static CoreOptions ending_soon() {
    CoreOptions options = Hand::default_options();
    options.stop_rounds = 2;
    return options;
  }
  void carry_out() {
    for (const Action& action : std::exchange(actions_, {}))
      std::visit([this](const auto& one) { act(one); }, action);
  }
  void act(const AdvanceChannel& work) {
    begun_behind_bye += said_bye ? 1 : 0;
    feed(advanced(work));
  }
  void act(const ApplyMessage& work) { feed(applied(work)); }
  void act(const StepShard& work) { feed(StepDone{work.shard, work.round, 0, {}}); }
  void act(const SendMessage& sent) {
    const Message& m = sent.message;
    const Applied applied{m.round, m.generation, m.shard, m.phase, ApplyOutcome::kApplied};
    if (m.shard == 1 && m.phase == Phase::kReduce && !unanswered)
      unanswered = {sent.link, applied};
    else
      feed(MessageApplied{sent.link, applied});
  }
  void act(const SendBye&) { said_bye = true; }
  void act(const auto&) {}

  const TimePoint now_{std::chrono::seconds(1)};
  Hand hand_;
  std::vector<Action> actions_;
};

// A peer may answer an earlier message after it has said bye. The vectors of a live node are freed
// by then. Seen to fail where the message that waited for the answer was made.
TEST(Leaving, BeginsNoMessageBehindBye) {
  RingOfThree ring;
  ring.round_is(0, false);
  ring.round_is(1, false);
  ring.round_is(2, true);
  ASSERT_TRUE(ring.unanswered);
  EXPECT_FALSE(ring.said_bye) << "a message waits for the answer";
  ring.feed(PeerBye{1});
  ASSERT_TRUE(ring.said_bye) << ring.begun_behind_bye;
  ring.feed(*ring.unanswered);
  EXPECT_EQ(ring.begun_behind_bye, 0u);
}

}  // namespace
}  // namespace kimesh::test::leaving_test
