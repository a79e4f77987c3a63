// What the simulator does for a core's actions: vector work at once, its end when it is paid for.
#include <algorithm>

#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

// Occupies a node's worker or trainer for `seconds` and says when that ends.
double Simulator::State::pay(double& resource, double seconds) {
  resource = std::max(resource, now) + seconds;
  return resource;
}

void Simulator::State::trainer_failed(NodeIndex index, double end, const Error& error) {
  push(end, ToNode{index, WorkFailed{"node " + plan.view.nodes[index] + ": " + error.message}});
}

void Simulator::State::act(NodeIndex index, ComputeGradient& action) {
  Node& node = nodes[index];
  const double seconds = to_seconds(setup.costs.gradient);
  const double end = pay(node.trainer_free, seconds);
  if (const Status synced = node.vectors.sync_parameters_to_host(); !synced)
    return trainer_failed(index, end, synced.error());
  const auto numbers = setup.nodes[index].objective->gradient(action.round);
  if (!numbers) return trainer_failed(index, end, numbers.error());
  if (const Status prepared = node.vectors.prepare_gradient(); !prepared)
    return trainer_failed(index, end, prepared.error());
  push(end, ToNode{index, GradientDone{action.round, numbers->loss, from_seconds(seconds)}});
}

void Simulator::State::act(NodeIndex index, Evaluate& action) {
  const double seconds = to_seconds(setup.costs.evaluate);
  const double end = pay(nodes[index].trainer_free, seconds);
  if (const Status synced = nodes[index].vectors.sync_parameters_to_host(); !synced)
    return trainer_failed(index, end, synced.error());
  const EvaluationNumbers numbers = setup.nodes[index].objective->evaluate();
  push(end, ToNode{index, Evaluated{action.round, static_cast<double>(numbers.correct),
                                    static_cast<double>(numbers.samples), numbers.loss_sum,
                                    from_seconds(seconds)}});
}

void Simulator::State::act(NodeIndex index, AdvanceChannel& action) {
  Node& node = nodes[index];
  double seconds =
      to_seconds(setup.costs.work) +
      setup.costs.encode_s_per_element * static_cast<double>(plan.elements(action.channel));
  auto result = node.vectors.advance(action);
  if (result && result->form == Form::kDzq)
    seconds += setup.costs.encode_s_per_coded_byte * static_cast<double>(result->bytes.size());
  const double end = pay(node.worker_free, seconds);
  if (!result) return push(end, ToNode{index, WorkFailed{result.error().message}});
  const auto bytes = static_cast<std::uint32_t>(result->bytes.size());
  const PayloadId payload = next_payload++;
  payloads.emplace(payload, std::move(result->bytes));
  push(end,
       ToNode{index, AdvanceDone{action.channel, action.round, payload, bytes, result->form,
                                 result->wanted_energy, result->missing_energy, result->digest,
                                 from_seconds(seconds), std::move(result->curve), result->kept}});
}

void Simulator::State::act(NodeIndex index, ApplyMessage& action) {
  Node& node = nodes[index];
  const auto payload = payloads.find(action.payload);
  KIMESH_CHECK(payload != payloads.end(), "a payload is applied once");
  double seconds =
      to_seconds(setup.costs.work) +
      setup.costs.apply_s_per_element * static_cast<double>(plan.elements(action.channel));
  if (action.form == Form::kDzq)
    seconds += setup.costs.decode_s_per_coded_byte * static_cast<double>(payload->second.size());
  const double end = pay(node.worker_free, seconds);
  const auto digest = node.vectors.apply(action, payload->second);
  payloads.erase(payload);
  if (!digest) return push(end, ToNode{index, WorkFailed{digest.error().message}});
  if (observer.applied) observer.applied(action.channel, action.round);
  push(end, ToNode{index, ApplyDone{action.channel, action.round, *digest, from_seconds(seconds)}});
}

void Simulator::State::act(NodeIndex index, StepShard& action) {
  Node& node = nodes[index];
  const double seconds =
      to_seconds(setup.costs.work) +
      setup.costs.step_s_per_element * static_cast<double>(plan.shards[action.shard].size);
  const double end = pay(node.worker_free, seconds);
  const std::uint64_t digest = node.vectors.step(action);
  push(end, ToNode{index, StepDone{action.shard, action.round, digest, from_seconds(seconds)}});
}

void Simulator::State::act(NodeIndex index, Action& action) {
  Node& node = nodes[index];
  if (auto* a = std::get_if<ComputeGradient>(&action)) return act(index, *a);
  if (auto* a = std::get_if<Evaluate>(&action)) return act(index, *a);
  if (auto* a = std::get_if<AdvanceChannel>(&action)) return act(index, *a);
  if (auto* a = std::get_if<ApplyMessage>(&action)) return act(index, *a);
  if (auto* a = std::get_if<StepShard>(&action)) return act(index, *a);
  if (auto* a = std::get_if<SendMessage>(&action)) return send(a->message, a->payload);
  if (auto* a = std::get_if<SendApplied>(&action)) return send_applied(*a);
  if (std::get_if<SendBye>(&action)) return to_peers(index, PeerBye{index}, true);
  if (auto* a = std::get_if<SendHalt>(&action))
    return to_peers(index, PeerHalted{index, a->kind, a->reason}, false);
  if (const auto* made = std::get_if<Report>(&action)) {
    if (observer.report) observer.report(index, time(), made->round);
  } else if (const auto* decided = std::get_if<Decided>(&action)) {
    if (observer.decision) observer.decision(index, time(), decided->decision);
  } else if (const auto* said = std::get_if<Notice>(&action)) {
    if (observer.notice) observer.notice(index, time(), said->text);
  } else if (const auto* end = std::get_if<Finish>(&action)) {
    node.end = {end->outcome, end->reason, end->text, true};
    --running;
  }
}

}  // namespace kimesh
