// How a run ends at this node: what it tells its peers, what it leaves, and for whom it waits.
#include <fmt/format.h>

#include <chrono>

#include "engine.h"
#include "kimesh/util/check.h"
#include "kimesh/util/keep_for_ever.h"

namespace kimesh {
namespace {

// How long halts and refusals may take at the end, as a part of dead_after: a halt waits for a new
// connection, which takes seven round trips with encryption. After a normal end the peers have all
// of dead_after to leave.
constexpr int kFlushPart = 3;
constexpr Duration kFlushMin = std::chrono::seconds(1), kFlushMax = std::chrono::seconds(10);
// What a gradient or vector work that is under way may still take once nobody wants it. One that
// hangs ends with the process.
constexpr Duration kThreadToEnd = std::chrono::seconds(10);

}  // namespace

// Ends the run. Before the start the core only stores early messages, and the node ends at once.
void Engine::abort(const std::string& why, HaltKind kind) {
  if (ended_) return;
  if (started_) return feed(WorkFailed{why, kind == HaltKind::kPermanent});
  if (stop_wanted()) kind = HaltKind::kUserStop;
  network_->send(SendHalt{kind, why});
  end_.outcome = kind == HaltKind::kUserStop ? Outcome::kStopped : Outcome::kFailed;
  end_.reason = kind == HaltKind::kPermanent ? StopReason::kPermanent : StopReason::kNone;
  end_.text = why;
  ended_ = true;
}

// Ends the run where a thread of this node has thrown something. Not by the core, whose state may
// be half of one.
bool Engine::end_by_thrown() {
  if (ended_ || thrown_.is_empty()) return false;
  std::string why = fmt::format("node {}: {}", name(setup_.self), *thrown_.text());
  network_->send(SendHalt{HaltKind::kFailure, why});
  if (started_) end_.seconds = to_seconds(now() - begun_);
  end_.outcome = Outcome::kFailed;
  end_.reason = StopReason::kNone;
  end_.text = std::move(why);
  ended_ = true;
  return true;
}

// The same for a program whose loop fails before it is asked for a gradient.
bool Engine::end_before_start() {
  check(setup_.objective->ready());
  return ended_ || end_by_thrown();
}

void Engine::check(const Status& status) {
  if (!status.ok()) abort(fmt::format("node {}: {}", name(setup_.self), status.error().message));
}

// The model of the run, as this node has it. Where it cannot be left the end is no good one.
void Engine::save_model() {
  Thrown trouble;
  trouble.guard("saving its model", [&] {
    end_.parameters = vectors_.model();
    end_.round = executor_.core().round();
    end_.lineage = executor_.core().lineage();
    if (end_.started && observer_.model) observer_.model(end_);
  });
  if (trouble.is_empty()) return;
  if (ended_ && end_.outcome != Outcome::kDone) {  // for another reason
    end_.text += fmt::format("; {}", *trouble.text());
  } else {
    not_saved_ = fmt::format("node {}: {}", name(setup_.self), *trouble.text());
  }
}

void Engine::close() {
  if (!network_ || std::exchange(closed_, true)) return;
  Thrown trouble;
  trouble.guard("ending", [&] { close_parts(); });
  if (!trouble.is_empty() && not_saved_.empty())
    not_saved_ = fmt::format("node {}: {}", name(setup_.self), *trouble.text());
  if (not_saved_.empty()) return;
  if (end_.outcome != Outcome::kFailed) end_.text = not_saved_;
  end_.outcome = Outcome::kFailed;
  end_.reason = StopReason::kNone;
}

void Engine::close_parts() {
  health_told_ = {};
  tell_health(now() + kTimeToSave, "ending");
  engine_.close();                              // a worker that waits for room would wait for ever
  if (started_) setup_.objective->interrupt();  // and so would one that waits for a program
  const bool worker_ends = !worker_ || worker_->ends_within(kThreadToEnd);
  if (!agreed_saved_) save_model();  // before anybody is waited for
  end_.rounds = end_.started ? end_.round + 1 : 0;
  const Duration dead_after = setup_.topology->dead_after;
  const Duration halting = std::clamp(dead_after / kFlushPart, kFlushMin, kFlushMax);
  network_->flush(end_.outcome == Outcome::kDone ? dead_after : halting);
  end_.counters = counters();
  const bool trainer_ends = !trainer_ || trainer_->ends_within(kThreadToEnd);
  end_.hangs = !worker_ends || !trainer_ends;
  if (end_.hangs && observer_.notice)
    static_cast<void>(observer_.notice(
        now(), fmt::format("{} has not ended for {:.0f} s: the node leaves without it",
                           trainer_ends ? "vector work" : "the gradient or evaluation under way",
                           to_seconds(kThreadToEnd))));
  network_.reset();
}

Engine::~Engine() {
  close();
}

Result<LiveNodeEnd> run_live_node(const LiveNodeSetup& setup, const LiveNodeObserver& observer) {
  KIMESH_CHECK(setup.plan && setup.topology && setup.objective, "a whole setup");
  const auto engine = std::make_shared<Engine>(setup, observer);
  if (const Status opened = engine->open(); !opened) return opened.error();
  LiveNodeEnd end = engine->run();
  if (end.hangs) keep_for_ever(engine);
  return end;
}

}  // namespace kimesh
