// Vector work and trainer work, once for both drivers.
#include <utility>
#include <variant>

#include "kimesh/executor/executor.h"
#include "kimesh/executor/node_state.h"
#include "kimesh/util/overloaded.h"

namespace kimesh {
namespace {

// A number that is not finite comes again from the same parameters and batches.
WorkFailed failure(const Error& error, const std::string& where = "") {
  return {where + error.message, error.code == ErrorCode::kNotFinite};
}

Event advance(const AdvanceChannel& work, Vectors& vectors) {
  auto made = vectors.advance(work);
  if (!made) return failure(made.error());
  return std::move(*made);
}

Event apply(const ApplyMessage& work, Vectors& vectors) {
  const auto digest = vectors.apply(work);
  if (!digest) return failure(digest.error());
  return ApplyDone{work.channel, work.round, *digest, {}};
}

Event step(const StepShard& work, Vectors& vectors) {
  return vectors.step(work);
}

Event take(const TakeMovement& work, Vectors& vectors) {
  if (const Status taken = vectors.take_movement(work); !taken) return failure(taken.error());
  return MovementTaken{work.round, work.overlap, {}};
}

Event save(SaveState& work, Vectors& vectors, StateStore* store) {
  if (store == nullptr) return StateSaved{work.id.round, false};
  work.state = store->memory();
  const auto begun = begin_state(work.core, vectors, work.state);
  if (!begun) return failure(begun.error());
  work.begun = *begun;
  return StateSaved{work.id.round};
}

Event load(const LoadState& work, Vectors& vectors, StateStore* store) {
  if (store == nullptr) return WorkFailed{"a node that resumes keeps checkpoints"};
  if (work.id.round == kNoRound) {
    const Status aside = store->set_aside();
    return aside ? Event(StateLoaded{kNoRound}) : failure(aside.error());
  }
  const auto state = store->load(work.id);
  // A checkpoint of another run stays one.
  if (!state) return WorkFailed{state.error().message, state.error().code == ErrorCode::kUserInput};
  StateReader reader(**state);
  auto core = read_state(reader, vectors);
  if (!core)
    return WorkFailed{"the checkpoint of round " + std::to_string(work.id.round) + " holds " +
                      core.error().message +
                      (reader.ok() && reader.left() > 0
                           ? ". Where a program has saved a state of its own there, it "
                             "must ask for it (state=(save, load))"
                           : "")};
  return StateLoaded{work.id.round, std::move(*core)};
}

// Each local step takes the node's next batch.
Result<Event> compute(const ComputeGradient& work, Vectors& vectors, Objective& objective,
                      const std::function<bool()>& gives_up) {
  const unsigned own = vectors.local_steps(), steps = own * work.local_steps;
  double loss = 0;
  objective.begin_round(work.round);
  for (unsigned step = 0; step < steps; ++step) {
    if (step > 0 && gives_up()) break;
    const auto numbers = objective.gradient(work.steps_before * own + step);
    if (!numbers) return numbers.error();
    if (const Status prepared = vectors.prepare_gradient(work.round); !prepared)
      return prepared.error();
    loss += numbers->loss;
  }
  return Event(GradientDone{work.round, loss / steps, {}});
}

Result<Event> evaluate(const Evaluate& work, Objective& objective) {
  const auto numbers = objective.evaluate();
  if (!numbers) return numbers.error();
  return Event(Evaluated{work.round,
                         static_cast<double>(numbers->correct),
                         static_cast<double>(numbers->samples),
                         numbers->loss_sum,
                         {}});
}

}  // namespace

Event perform(VectorWork& work, Vectors& vectors, StateStore* store) {
  return std::visit(Overloaded{[&](const AdvanceChannel& w) { return advance(w, vectors); },
                               [&](const ApplyMessage& w) { return apply(w, vectors); },
                               [&](const StepShard& w) { return step(w, vectors); },
                               [&](const TakeMovement& w) { return take(w, vectors); },
                               [&](SaveState& w) { return save(w, vectors, store); },
                               [&](const LoadState& w) { return load(w, vectors, store); }},
                    work);
}

std::optional<Event> finish_work(VectorWork& work, const Vectors& vectors, StateStore* store) {
  auto* const saving = std::get_if<SaveState>(&work);
  if (saving == nullptr || store == nullptr || saving->begun == 0) return std::nullopt;
  if (const Status saved = end_state(saving->begun, vectors, saving->state); !saved)
    return failure(saved.error());
  store->keep(saving->id, std::move(saving->state));
  return std::nullopt;
}

Event perform(const TrainerWork& work, Vectors& vectors, Objective& objective,
              const std::string& node, const std::function<bool()>& gives_up) {
  const Round round = std::visit([](const auto& w) { return w.round; }, work);
  const auto failed = [&](const Error& error) -> Event {
    return failure(error, "node " + node + ", round " + std::to_string(round) + ": ");
  };
  const Status there = std::visit([&](const auto& w) { return vectors.prepare_point(w); }, work);
  if (!there) return failed(there.error());
  auto end = std::visit(
      Overloaded{[&](const ComputeGradient& w) { return compute(w, vectors, objective, gives_up); },
                 [&](const Evaluate& w) { return evaluate(w, objective); }},
      work);
  return end ? std::move(*end) : failed(end.error());
}

}  // namespace kimesh
