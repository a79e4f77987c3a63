// Vector work and trainer work, once for both drivers.
#include <utility>
#include <variant>

#include "kimesh/executor/executor.h"
#include "kimesh/util/overloaded.h"

namespace kimesh {
namespace {

Event advance(const AdvanceChannel& work, Vectors& vectors) {
  auto made = vectors.advance(work);
  if (!made) return WorkFailed{made.error().message};
  return std::move(*made);
}

Event apply(const ApplyMessage& work, Vectors& vectors) {
  const auto digest = vectors.apply(work);
  if (!digest) return WorkFailed{digest.error().message};
  return ApplyDone{work.channel, work.round, *digest, {}};
}

Event step(const StepShard& work, Vectors& vectors) {
  return vectors.step(work);
}

Event take(const TakeMovement& work, Vectors& vectors) {
  if (const Status taken = vectors.take_movement(work); !taken)
    return WorkFailed{taken.error().message};
  return MovementTaken{work.round, work.overlap, {}};
}

// Each local step takes the node's next batch.
Result<Event> compute(const ComputeGradient& work, Vectors& vectors, Objective& objective,
                      const std::function<bool()>& gives_up) {
  const unsigned steps = vectors.local_steps();
  double loss = 0;
  for (unsigned step = 0; step < steps; ++step) {
    if (step > 0 && gives_up()) break;
    const auto numbers = objective.gradient(std::uint64_t{work.round} * steps + step);
    if (!numbers) return numbers.error();
    if (const Status prepared = vectors.prepare_gradient(work.round); !prepared)
      return prepared.error();
    loss += numbers->loss;
  }
  return Event(GradientDone{work.round, loss / steps, {}});
}

Event evaluate(const Evaluate& work, Objective& objective) {
  const EvaluationNumbers numbers = objective.evaluate();
  return Evaluated{work.round,
                   static_cast<double>(numbers.correct),
                   static_cast<double>(numbers.samples),
                   numbers.loss_sum,
                   {}};
}

}  // namespace

Event perform(const VectorWork& work, Vectors& vectors) {
  return std::visit(Overloaded{[&](const AdvanceChannel& w) { return advance(w, vectors); },
                               [&](const ApplyMessage& w) { return apply(w, vectors); },
                               [&](const StepShard& w) { return step(w, vectors); },
                               [&](const TakeMovement& w) { return take(w, vectors); }},
                    work);
}

Event perform(const TrainerWork& work, Vectors& vectors, Objective& objective,
              const std::string& node, const std::function<bool()>& gives_up) {
  const Round round = std::visit([](const auto& w) { return w.round; }, work);
  const auto failed = [&](const Error& error) -> Event {
    return WorkFailed{"node " + node + ", round " + std::to_string(round) + ": " + error.message};
  };
  const Status there = std::visit([&](const auto& w) { return vectors.prepare_point(w); }, work);
  if (!there) return failed(there.error());
  auto end = std::visit(
      Overloaded{[&](const ComputeGradient& w) { return compute(w, vectors, objective, gives_up); },
                 [&](const Evaluate& w) { return Result<Event>(evaluate(w, objective)); }},
      work);
  return end ? std::move(*end) : failed(end.error());
}

}  // namespace kimesh
