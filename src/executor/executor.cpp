#include "kimesh/executor/executor.h"

#include <utility>
#include <variant>

#include "kimesh/util/overloaded.h"

namespace kimesh {

void Executor::start(TimePoint now) {
  std::vector<Action> actions;
  core_.start(now, actions);
  carry_out(std::move(actions));
  core_.catch_up();
}

void Executor::handle(TimePoint now, Event event) {
  std::vector<Action> actions;
  core_.handle(now, std::move(event), actions);
  carry_out(std::move(actions));
  core_.catch_up();
}

void Executor::carry_out(std::vector<Action> actions) {
  const Overloaded to_driver{
      [&](ComputeGradient& action) { driver_.work(TrainerWork(action)); },
      [&](Evaluate& action) { driver_.work(TrainerWork(action)); },
      [&](AdvanceChannel& action) { driver_.work(VectorWork(std::move(action))); },
      [&](ApplyMessage& action) { driver_.work(VectorWork(std::move(action))); },
      [&](StepShard& action) { driver_.work(VectorWork(action)); },
      [&](TakeMovement& action) { driver_.work(VectorWork(action)); },
      [&](SaveState& action) { driver_.work(VectorWork(std::move(action))); },
      [&](LoadState& action) { driver_.work(VectorWork(action)); },
      [&](SendMessage& action) { driver_.send(std::move(action)); },
      [&](SendApplied& action) { driver_.send(action); },
      [&](SendBye& action) { driver_.send(action); },
      [&](SendHalt& action) { driver_.send(action); },
      [&](Report& action) { driver_.notify(action.round); },
      [&](Decided& action) { driver_.notify(action.decision); },
      [&](Notice& action) { driver_.notify(action); },
      [&](Finish& action) { driver_.finish(action); },
  };
  for (Action& action : actions) std::visit(to_driver, action);
}

void set_time_taken(Event& end, Duration took) {
  std::visit(
      [&](auto& event) {
        if constexpr (requires { event.took; }) event.took = took;
      },
      end);
}

}  // namespace kimesh
