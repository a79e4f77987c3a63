// A round that ends with a checkpoint, and a core that goes on from one, event by event.
#include <gmock/gmock.h>

#include "kimesh/round/progress.h"
#include "tests/round/hand.h"

namespace kimesh::test::checkpoint_test {
namespace {

CoreOptions saving() {
  CoreOptions options = Hand::default_options();
  options.checkpoints.every_rounds = 2;
  return options;
}

CoreOptions resuming(std::optional<Round> newest) {
  CoreOptions options = saving();
  options.checkpoints.resumes = true;
  options.checkpoints.newest = newest;
  return options;
}

// The worker's word in the agreement; 0: it holds no checkpoint, and may have lost it.
MessageArrived word_of_the_worker(const Hand& server, double held, bool has_lost = false) {
  MessageArrived word = server.reduce_from(1, 0);
  word.message.form = Form::kEmpty;
  ControlVector control;
  control.nodes = 1;
  control.checkpoint_held = held;
  control.samples = held > 0 ? 1 : 0;
  control.stop_wish = has_lost ? 1 : 0;
  word.message.control = control.to_control();
  return word;
}

// The server, up to the end of round 1, which ends with a checkpoint.
std::unique_ptr<Hand> at_the_checkpoint() {
  auto server = std::make_unique<Hand>(two_nodes(), 0, saving());
  server->start();
  server->round_of_the_server(0);
  const Verdict told = Verdict::from_control(server->last().get<SendMessage>().message.control);
  EXPECT_EQ(told.checkpoint_round, 1u);
  server->feed(server->gather_applied(1, 0, ApplyOutcome::kApplied));
  server->round_of_the_server(1);
  return server;
}

// Seen to fail without each of the three waits.
TEST(Checkpoint, IsMadeOnceAllMessagesAreAppliedAndBeforeAnyOfTheNextRound) {
  const auto server = at_the_checkpoint();
  EXPECT_FALSE(server->last().has<SaveState>());
  EXPECT_FALSE(server->last().has<Report>());
  server->feed(server->reduce_from(1, 2));
  EXPECT_TRUE(server->last().empty());

  server->feed(server->gather_applied(1, 1, ApplyOutcome::kApplied));
  EXPECT_TRUE(server->last().get<Report>().round.checkpoint);
  EXPECT_EQ(server->last().get<SaveState>().id.round, 1u);
  EXPECT_FALSE(server->last().has<ComputeGradient>());

  server->feed(StateSaved{1});
  EXPECT_EQ(server->last().get<ComputeGradient>().round, 2u);
  EXPECT_EQ(server->last().get<ApplyMessage>().round, 2u);
}

// Seen to fail where all three were "vector work".
TEST(Checkpoint, SaysForWhatItWaits) {
  const auto server = at_the_checkpoint();
  EXPECT_EQ(server->core.waiting_for(), "link n0->n1, shard 0, gather (round 1) to be applied");
  server->feed(server->gather_applied(1, 1, ApplyOutcome::kApplied));
  EXPECT_EQ(server->core.waiting_for(),
            "its state of round 1 to be copied, or an earlier one to be written");

  Hand other(two_nodes(), 0, resuming(Round{3}));
  other.start();
  other.feed(word_of_the_worker(other, 2));
  other.feed(other.gather_applied(1, 0, ApplyOutcome::kApplied));
  EXPECT_EQ(other.core.waiting_for(), "its checkpoint to be read");
}

TEST(Checkpoint, OfTheNextRoundIsCalledOnce) {
  const auto server = at_the_checkpoint();
  const Verdict told = Verdict::from_control(server->last().get<SendMessage>().message.control);
  EXPECT_EQ(told.checkpoint_round, kNoRound);
}

TEST(Checkpoint, IsWhatANewCoreGoesOnFrom) {
  const auto server = at_the_checkpoint();
  server->feed(server->gather_applied(1, 1, ApplyOutcome::kApplied));
  const std::vector<std::byte> saved = server->last().get<SaveState>().core;

  Hand other(two_nodes(), 0, resuming(Round{3}));
  other.start();
  EXPECT_FALSE(other.last().has<ComputeGradient>());
  other.feed(word_of_the_worker(other, 2));
  const Verdict told = Verdict::from_control(other.last().get<SendMessage>().message.control);
  EXPECT_EQ(told.checkpoint_held, 1u);
  EXPECT_FALSE(other.last().has<LoadState>());  // the worker does not know it yet
  other.feed(other.gather_applied(1, 0, ApplyOutcome::kApplied));
  EXPECT_EQ(other.last().get<LoadState>().id.round, 1u);

  other.feed(StateLoaded{1, saved});
  EXPECT_EQ(other.last().get<Decided>().decision.kind, Decision::Kind::kResume);
  EXPECT_EQ(other.last().get<Decided>().decision.round, 2u);
  EXPECT_EQ(other.last().get<ComputeGradient>().round, 2u);
  // It saves what it was given, but for the time that has passed.
  other.round_of_the_server(2);
  other.feed(other.gather_applied(1, 2, ApplyOutcome::kApplied));
  other.round_of_the_server(3);
  other.feed(other.gather_applied(1, 3, ApplyOutcome::kApplied));
  EXPECT_EQ(other.last().get<SaveState>().core.size(), saved.size());
}

TEST(Checkpoint, OfAnotherRoundOrCutShortEndsTheRun) {
  const auto server = at_the_checkpoint();
  server->feed(server->gather_applied(1, 1, ApplyOutcome::kApplied));
  const std::vector<std::byte> saved = server->last().get<SaveState>().core;
  for (const bool is_cut : {false, true}) {
    Hand other(two_nodes(), 0, resuming(Round{3}));
    other.start();
    other.feed(word_of_the_worker(other, is_cut ? 2 : 4));
    other.feed(other.gather_applied(1, 0, ApplyOutcome::kApplied));
    StateLoaded loaded{is_cut ? 1u : 3u, saved};
    if (is_cut) loaded.core.pop_back();
    other.feed(std::move(loaded));
    EXPECT_EQ(other.last().get<Finish>().outcome, Outcome::kFailed);
    EXPECT_FALSE(other.last().has<ComputeGradient>());
  }
}

// The server's side of round 1, which ends with a checkpoint, where the last message of round 0 did
// not arrive whole, so that its channel begins a generation, as that of the worker does; the worker
// brings an evaluation. Gives the state.
std::vector<std::byte> state_with_everything() {
  Hand server(two_nodes(), 0, saving());
  server.start();
  server.round_of_the_server(0);
  server.feed(server.gather_applied(1, 0, ApplyOutcome::kDigestDiffers));
  server.feed(GradientDone{1, 1.0, {}});
  MessageArrived word = server.reduce_from(1, 1);
  word.message.generation = 3;
  word.message.restart = true;
  ControlVector control = ControlVector::from_control(word.message.control);
  control.samples = 10;
  control.correct = 4;
  control.test_loss = 20;
  word.message.control = control.to_control();
  server.apply(std::move(word));
  server.feed(StepDone{0, 1, 0, {}});
  server.feed(advanced(server.last().get<AdvanceChannel>()));
  EXPECT_EQ(server.last().get<SendMessage>().message.generation, 1u);
  MessageApplied answer = server.gather_applied(1, 1, ApplyOutcome::kApplied);
  answer.applied.generation = 1;
  server.feed(answer);
  return server.last().get<SaveState>().core;
}

// A core that goes on from this state, in round 2.
std::unique_ptr<Hand> gone_on(const std::vector<std::byte>& state,
                              const CoreOptions& options = resuming(Round{1})) {
  auto other = std::make_unique<Hand>(two_nodes(), 0, options);
  other->start();
  other->feed(word_of_the_worker(*other, 2));
  other->feed(other->gather_applied(1, 0, ApplyOutcome::kApplied));
  other->feed(StateLoaded{1, state});
  EXPECT_EQ(other->last().get<ComputeGradient>().round, 2u);
  return other;
}

// Seen to fail where it was left out of the state.
TEST(Checkpoint, HoldsTheVerdict) {
  const auto other = gone_on(state_with_everything());
  other->feed(GradientDone{2, 1.0, {}});
  MessageArrived word = other->reduce_from(1, 2);
  word.message.generation = 3;
  other->apply(std::move(word));
  other->feed(StepDone{0, 2, 0, {}});
  other->feed(advanced(other->last().get<AdvanceChannel>()));
  const Verdict told = Verdict::from_control(other->last().get<SendMessage>().message.control);
  EXPECT_DOUBLE_EQ(told.accuracy, 0.4);
  EXPECT_DOUBLE_EQ(told.test_loss, 2);
  EXPECT_EQ(told.accuracy_round, 1u);
}

// Seen to fail where outgoing channels left theirs out, and where incoming ones did.
TEST(Checkpoint, HoldsTheGenerationsOfBothDirections) {
  const std::vector<std::byte> state = state_with_everything();
  const auto other = gone_on(state);
  other->feed(GradientDone{2, 1.0, {}});
  MessageArrived word = other->reduce_from(1, 2);
  word.message.generation = 3;
  other->apply(std::move(word));
  other->feed(StepDone{0, 2, 0, {}});
  EXPECT_FALSE(other->last().get<AdvanceChannel>().restart);
  other->feed(advanced(other->last().get<AdvanceChannel>()));
  EXPECT_EQ(other->last().get<SendMessage>().message.generation, 1u);

  const auto strict = gone_on(state);
  strict->feed(GradientDone{2, 1.0, {}});
  strict->feed(strict->reduce_from(1, 2));  // of generation 0
  EXPECT_THAT(strict->last().get<Finish>().text,
              testing::HasSubstr("a round or generation that cannot be"));
}

// Under another plan the run goes on where it was, and channels begin anew. Seen to fail where the
// state of channels was asked for.
TEST(Checkpoint, OfAnotherPlanHoldsHowFarTheRunHasCome) {
  const std::vector<std::byte> state = state_with_everything();
  const auto progress = progress_in(state);
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->round, 1u);
  EXPECT_EQ(progress->trained, 2u);
  const auto other = gone_on(core_state_of(*progress));
  other->round_of_the_server(2);  // of generation 0
  const Message& sent = other->last().get<SendMessage>().message;
  EXPECT_EQ(sent.generation, 0u);
  EXPECT_DOUBLE_EQ(Verdict::from_control(sent.control).accuracy, 0.4);
}

// Seen to fail where the mean of other nodes stays, of which none has offered anything.
TEST(Checkpoint, OfAnotherPlanHoldsNoMultiplesOfLocalSteps) {
  auto progress = progress_in(state_with_everything());
  ASSERT_TRUE(progress.ok());
  Verdict verdict = Verdict::from_control(progress->verdict);
  verdict.mean_multiple = 2;
  progress->verdict = verdict.to_control();
  CoreOptions options = resuming(Round{1});
  options.local_steps_vary = options.chooses_multiples = true;
  const auto other = gone_on(core_state_of(*progress), options);
  EXPECT_EQ(other->last().get<ComputeGradient>().scale, 1);
}

// Nodes were killed before the first checkpoint was written everywhere.
TEST(Checkpoint, IsSetAsideWhereNotAllHaveOneAndNobodyHasLostIts) {
  Hand server(two_nodes(), 0, resuming(Round{1}));
  server.start();
  server.feed(word_of_the_worker(server, 0));
  server.feed(server.gather_applied(1, 0, ApplyOutcome::kApplied));
  EXPECT_EQ(server.last().get<LoadState>().id.round, kNoRound);
  server.feed(StateLoaded{kNoRound});
  EXPECT_EQ(server.last().get<ComputeGradient>().round, 0u);
}

// Seen to fail without the mark of kMixedLineages.
TEST(Checkpoint, OfDifferentRunsIsGoneOnWithByNobody) {
  for (const std::uint64_t lineage : {71u, 72u}) {
    CoreOptions options = resuming(Round{1});
    options.checkpoints.newest_lineage = 71;
    options.checkpoints.lineage = 99;
    Hand server(two_nodes(), 0, options);
    server.start();
    MessageArrived word = word_of_the_worker(server, 2);
    ControlVector control = ControlVector::from_control(word.message.control);
    control.held_lineage = lineage;
    word.message.control = control.to_control();
    server.feed(std::move(word));
    server.feed(server.gather_applied(1, 0, ApplyOutcome::kApplied));
    if (lineage == 71) {
      EXPECT_EQ(server.last().get<LoadState>().id.lineage, 71u);
      EXPECT_EQ(server.core.lineage(), 99u);
    } else {
      EXPECT_FALSE(server.last().has<LoadState>());
      EXPECT_EQ(server.last().get<Finish>().reason, StopReason::kPermanent);
      EXPECT_THAT(server.last().get<Finish>().text,
                  testing::HasSubstr("the checkpoints of round 1 that nodes hold are of different "
                                     "runs, or of one run that went on in two ways"));
    }
  }
}

// Seen to fail: the run begun anew.
TEST(Checkpoint, IsNotGivenUpForANodeThatHasLostIts) {
  Hand server(two_nodes(), 0, resuming(Round{1}));
  server.start();
  server.feed(word_of_the_worker(server, 0, true));
  server.feed(server.gather_applied(1, 0, ApplyOutcome::kApplied));
  EXPECT_EQ(server.last().get<SendHalt>().kind, HaltKind::kPermanent);
  EXPECT_EQ(server.last().get<Finish>().reason, StopReason::kPermanent);

  CoreOptions lost = resuming(std::nullopt);
  Hand worker(two_nodes(), 1, lost);
  worker.start();
  const auto word = [](const Hand& hand) {
    return ControlVector::from_control(hand.last().get<SendMessage>().message.control);
  };
  EXPECT_EQ(word(worker).stop_wish, 1);
  lost.checkpoints.never_held = true;
  Hand trained(two_nodes(), 1, lost);
  trained.start();
  EXPECT_EQ(word(trained).stop_wish, 0);
}

// A node that was killed before its first checkpoint keeps the records that say so. Seen to fail:
// a begin decided, which makes the records void, before the halt of the node that holds one came.
TEST(Checkpoint, OfOthersThatIsNotGivenUpLeavesTheRecordsOfWhoHoldsNone) {
  CoreOptions killed_early = resuming(std::nullopt);
  killed_early.checkpoints.never_held = true;
  Hand worker(two_nodes(), 1, killed_early);
  worker.start();
  MessageArrived answer = worker.from(0, 0, Phase::kGather, 0);
  answer.message.form = Form::kEmpty;
  Verdict verdict;
  verdict.stop = true;
  answer.message.control = verdict.to_control();
  worker.feed(MessageApplied{*worker.plan.find_link(1, 0),
                             {0, 0, 0, Phase::kReduce, ApplyOutcome::kApplied}});
  worker.feed(std::move(answer));
  EXPECT_FALSE(worker.last().has<Decided>());
  EXPECT_EQ(worker.last().get<Finish>().reason, StopReason::kPermanent);
}

// All nodes are new, or all have lost their folders, which nobody can tell from it.
TEST(Checkpoint, ThatNobodyHoldsIsMissedByNobody) {
  Hand server(two_nodes(), 0, resuming(std::nullopt));
  server.start();
  server.feed(word_of_the_worker(server, 0, true));
  const Verdict told = Verdict::from_control(server.last().get<SendMessage>().message.control);
  EXPECT_FALSE(told.stop);
}

// A peer that does not go on sends a gradient, and one that does sends a word.
TEST(Checkpoint, AndABeginDoNotMix) {
  Hand goes_on(two_nodes(), 0, resuming(Round{1}));
  goes_on.start();
  goes_on.feed(goes_on.reduce_from(1, 0));
  EXPECT_THAT(goes_on.last().get<Finish>().text,
              testing::HasSubstr("node n1 does not go on from a checkpoint and node n0 does"));

  Hand begins(two_nodes(), 0, saving());
  begins.start();
  begins.feed(word_of_the_worker(begins, 1));
  EXPECT_THAT(begins.last().get<Finish>().text,
              testing::HasSubstr("node n1 goes on from a checkpoint and node n0 does not"));
}

}  // namespace
}  // namespace kimesh::test::checkpoint_test
