// The simulated driver of a node: it does work at once and reports its end when its time has
// passed.
#include <algorithm>

#include "kimesh/util/check.h"
#include "kimesh/util/overloaded.h"
#include "state.h"

namespace kimesh {
namespace {

// The virtual time of vector work. The entropy coder's share depends on the bytes that it codes,
// which are known after an advance.
double seconds_of(const VectorWork& work, const Event& end, const SimulatedCosts& costs,
                  const Plan& plan) {
  const auto coded = [](Form form, const Payload& payload) {
    return form == Form::kDzq ? static_cast<double>(payload.size()) : 0.0;
  };
  const double work_s = to_seconds(costs.work);
  const double copy_s = work_s + costs.step_s_per_element * static_cast<double>(plan.layout.size());
  return std::visit(
      Overloaded{
          [&](const AdvanceChannel& w) {
            const auto* done = std::get_if<AdvanceDone>(&end);
            const double bytes = done ? coded(done->form, done->payload) : 0;
            return work_s +
                   costs.encode_s_per_element * static_cast<double>(plan.elements(w.channel)) +
                   costs.encode_s_per_coded_byte * bytes;
          },
          [&](const ApplyMessage& w) {
            return work_s +
                   costs.apply_s_per_element * static_cast<double>(plan.elements(w.channel)) +
                   costs.decode_s_per_coded_byte * coded(w.form, w.payload);
          },
          [&](const StepShard& w) {
            return work_s +
                   costs.step_s_per_element * static_cast<double>(plan.shards[w.shard].size);
          },
          [&](const TakeMovement&) { return copy_s; }, [&](const SaveState&) { return copy_s; },
          [&](const LoadState&) { return copy_s; }},
      work);
}

VectorsOptions vectors_options(const SimulatedNode& node) {
  VectorsOptions options = node.vectors;
  options.objective_on_device = node.objective->computes_on_gpu();
  return options;
}

}  // namespace

Simulator::State::Node::Node(State& state, NodeIndex self, const SimulatedNode& options)
    : vectors(state.plan, self, vectors_options(options)),
      executor(Core(state.plan, self, options.core, state.setup.replay), *this),
      state_(state),
      self_(self) {}

// Occupies the node's worker or trainer for `seconds`, after which the core gets the event.
void Simulator::State::Node::end_after(double& resource, double seconds, Event event) {
  resource = std::max(resource, state_.now) + seconds;
  set_time_taken(event, from_seconds(seconds));
  state_.push(resource, ToNode{self_, std::move(event)});
}

// As late as may be, so that a gradient that changed what is left of a state would be seen.
void Simulator::State::Node::finish_last_work() {
  if (!last_work_) return;
  const auto* saving = std::get_if<SaveState>(&*last_work_);
  const bool keeps = saving != nullptr && saving->begun > 0;
  auto failed = finish_work(*last_work_, vectors, state_.setup.nodes[self_].states);
  if (failed) end_after(worker_free_, 0, std::move(*failed));
  if (!failed && keeps) end_after(worker_free_, 0, StateHeld{saving->id.round});
  last_work_.reset();
}

void Simulator::State::Node::work(VectorWork work) {
  finish_last_work();
  Event event = perform(work, vectors, state_.setup.nodes[self_].states);
  const double seconds = seconds_of(work, event, state_.setup.costs, state_.plan);
  if (const auto* done = std::get_if<ApplyDone>(&event); done && state_.observer.applied)
    state_.observer.applied(done->channel, done->round);
  end_after(worker_free_, seconds, std::move(event));
  last_work_ = std::move(work);
}

void Simulator::State::Node::work(TrainerWork work) {
  const SimulatedCosts& costs = state_.setup.costs;
  const Duration gradient = costs.node_gradients.empty() ? vectors.local_steps() * costs.gradient
                                                         : costs.node_gradients[self_];
  const Duration takes =
      std::visit(Overloaded{[&](const ComputeGradient& w) { return w.local_steps * gradient; },
                            [&](const Evaluate&) { return costs.evaluate; }},
                 work);
  end_after(
      trainer_free_, to_seconds(takes),
      perform(work, vectors, *state_.setup.nodes[self_].objective, state_.plan.view.nodes[self_]));
}

void Simulator::State::Node::send(SendMessage action) {
  state_.send(std::move(action));
}
void Simulator::State::Node::send(const SendApplied& action) {
  state_.send_applied(action);
}
void Simulator::State::Node::send(const SendBye&) {
  state_.send_bye(self_);
}
void Simulator::State::Node::send(const SendHalt& action) {
  state_.send_halt(self_, action);
}

void Simulator::State::Node::notify(const RoundReport& report) {
  if (state_.observer.report) state_.observer.report(self_, state_.time(), report);
}
void Simulator::State::Node::notify(const Decision& decision) {
  if (state_.observer.decision) state_.observer.decision(self_, state_.time(), decision);
}
void Simulator::State::Node::notify(const Notice& notice) {
  if (state_.observer.notice) state_.observer.notice(self_, state_.time(), notice.text);
}

void Simulator::State::Node::finish(const Finish& finish) {
  end = {finish.outcome, finish.reason, finish.text, true};
  --state_.running;
}

}  // namespace kimesh
