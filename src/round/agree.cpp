// The verdict of the owner of shard 0, and the end of a run.
#include <fmt/format.h>

#include <algorithm>

#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

namespace {

// One hit may be chance; two in a row justify a dense gather.
constexpr unsigned kHitsInARow = 2;

}  // namespace

Duration Core::State::run_clock() const {
  return now - started - evaluated;
}

// Returns the verdict as all other nodes read it, with its measured values rounded (as_float).
// Decisions have the values before they were rounded.
Verdict Core::State::decide_verdict(const ControlVector& from_all) {
  return Verdict::from_control(choose_verdict(from_all).to_control());
}

Verdict Core::State::choose_verdict(const ControlVector& from_all) {
  Verdict next = verdict;
  if (from_all.nodes != static_cast<double>(plan.view.nodes.size()))
    fail(fmt::format("round {}: the control vector holds {} of {} nodes", round, from_all.nodes,
                     plan.view.nodes.size()));
  next.checkpoint_held =
      from_all.checkpoint_held >= 1 ? static_cast<Round>(from_all.checkpoint_held - 1) : kNoRound;
  next.lineage = agreeing || round == 0 ? options.checkpoints.lineage : 0;
  next.held_lineage = agreeing ? from_all.held_lineage : 0;
  if (agreeing) {
    next.stop = from_all.samples > 0 && from_all.stop_wish > 0 && from_all.checkpoint_wish == 0;
    return next;
  }
  next.loss = confirming ? verdict.loss : from_all.loss;
  if (!confirming) choose_pace(from_all, next);
  next.evaluate_s = from_all.evaluate_s;
  next.stop = false;
  if (from_all.samples > 0) {
    next.accuracy = from_all.correct / from_all.samples;
    next.test_loss = from_all.test_loss / from_all.samples;
    next.accuracy_round = round;
    count_hits(next);
  }
  if (confirming) {
    end_confirmation(next, from_all);
  } else if (next.closing_round == kNoRound) {
    call_closing(next, from_all);
  }
  call_checkpoint(next, from_all);
  return next;
}

// Whether the latest evaluation reached `target`, which is kAccuracy or kLoss. A loss that is not a
// number reaches nothing.
bool Core::State::reached(StopReason target, const Verdict& latest) const {
  if (target == StopReason::kAccuracy)
    return options.stop_accuracy && latest.accuracy >= *options.stop_accuracy;
  KIMESH_CHECK(target == StopReason::kLoss, "only targets of the test set are reached");
  return options.stop_loss && latest.test_loss <= *options.stop_loss;
}

void Core::State::count_hits(const Verdict& latest) {
  accuracy_hits = reached(StopReason::kAccuracy, latest) ? accuracy_hits + 1 : 0;
  loss_hits = reached(StopReason::kLoss, latest) ? loss_hits + 1 : 0;
}

// Calls a closing round where there is a reason. Reasons that need no confirmation come first.
void Core::State::call_closing(Verdict& next, const ControlVector& from_all) {
  if (replay) {
    const auto logged = replay->closing(round);
    if (!logged) return;
    next.closing_round = logged->closing_round;
    next.reason = logged->reason;
  } else if (options.stop_rounds && trained + 1 >= *options.stop_rounds) {
    next.reason = StopReason::kRounds;
  } else if (from_all.stop_wish > 0) {
    next.reason = from_all.stop_wish > kTimeIsOver ? StopReason::kTraffic : StopReason::kTime;
  } else if (accuracy_hits >= kHitsInARow) {
    next.reason = StopReason::kAccuracy;
  } else if (loss_hits >= kHitsInARow) {
    next.reason = StopReason::kLoss;
  } else {
    return;
  }
  next.closing_round = round + 1;
  emit(Decided{{Decision::Kind::kClosing, round, 0, {}, next}});
}

// Ends a confirmation round, in which all models are equal. Training goes on where they miss the
// target for which the closing round was called; every other reason ends the run.
void Core::State::end_confirmation(Verdict& next, const ControlVector& from_all) {
  const bool is_target = next.reason == StopReason::kAccuracy || next.reason == StopReason::kLoss;
  next.stop = !is_target || (next.accuracy_round == round && reached(next.reason, next));
  if (replay) next.stop = replay->confirmed_stop(round).has_value();
  if (!next.stop) {
    accuracy_hits = loss_hits = 0;
    next.reason = StopReason::kNone;
    next.closing_round = kNoRound;
    return call_closing(next, from_all);  // the next training round may be the last
  }
  emit(Decided{{Decision::Kind::kConfirmedStop, round, 0, {}, next}});
}

// Whether a peer may still say bye: it saves its model before, and is heard while it does.
bool Core::State::may_still_leave(const Peer& peer) const {
  const auto is_silent = [&](const LinkLife& life) {
    return life.far == peer.node && now - life.heard > options.dead_after;
  };
  return now - ended_at <= kTimeToSave && std::ranges::none_of(lives, is_silent);
}

// Says bye once no message of this node is under way. Finishes once all peers have said bye, or are
// silent for dead_after.
void Core::State::try_end() {
  if (!ending || finished) return;
  // Who has said bye has all that it needs, though its answer may have been lost.
  const auto idle_out = [this](const OutgoingChannel& out) {
    const NodeIndex to = plan.links[out.link].to;
    const auto has_left = [to](const Peer& peer) { return peer.node == to && peer.bye; };
    return (!out.busy && !out.waiting) || (!out.encoding && std::ranges::any_of(peers, has_left));
  };
  const auto idle_in = [](const IncomingChannel& in) { return !in.pending; };
  if (!said_bye && std::all_of(outs.begin(), outs.end(), idle_out) &&
      std::all_of(ins.begin(), ins.end(), idle_in)) {
    said_bye = true;
    // A peer that has said bye may still answer an earlier message. The message that waited for the
    // answer is not made any more: after SendBye the vectors may lack what it is made of.
    for (OutgoingChannel& out : outs) out.waiting = false;
    emit(SendBye{});
  }
  if (!said_bye) return;
  const auto has_left = [](const Peer& peer) { return peer.bye; };
  const auto comes = [&](const Peer& peer) { return !peer.bye && may_still_leave(peer); };
  const bool all = std::ranges::all_of(peers, has_left);
  if (!all && (now - ended_at <= options.dead_after || std::ranges::any_of(peers, comes))) return;
  if (!all) emit(Notice{fmt::format("left without {}", waiting_for())});
  finish(Outcome::kDone, stop_reason, "");
}

void Core::State::fail(std::string why, HaltKind kind) {
  halt(kind, why);
}

void Core::State::halt(HaltKind kind, const std::string& why) {
  if (finished) return;
  emit(SendHalt{kind, why});
  if (kind == HaltKind::kUserStop) return finish(Outcome::kStopped, StopReason::kWish, why);
  const bool is_permanent = kind == HaltKind::kPermanent;
  finish(Outcome::kFailed, is_permanent ? StopReason::kPermanent : StopReason::kNone, why);
}

void Core::State::finish(Outcome outcome, StopReason reason, std::string text) {
  emit(Finish{outcome, reason, std::move(text)});
  finished = true;
}

}  // namespace kimesh
