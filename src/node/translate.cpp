// Between the words of the wire and those of the core, both ways.
#include <fmt/format.h>

#include <algorithm>

#include "engine.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

void Engine::on(NetworkEvent& event) {
  if (auto* e = std::get_if<MessageReceived>(&event)) return on(*e);
  if (auto* e = std::get_if<AppliedReceived>(&event)) return on(*e);
  if (auto* e = std::get_if<MessageAckedOnWire>(&event))
    return feed(MessageAcked{e->link, e->sample});
  if (auto* e = std::get_if<HeardFrom>(&event)) return feed(PeerHeard{e->node});
  if (auto* e = std::get_if<ByeReceived>(&event)) return feed(PeerBye{e->node});
  if (auto* e = std::get_if<LinkReady>(&event)) {
    waiting_out_.erase(e->link);
    return feed(LinkUp{e->link});
  }
  if (auto* e = std::get_if<PeerArrived>(&event)) {
    waiting_in_.erase(e->node);
    return;
  }
  if (auto* e = std::get_if<LinkLost>(&event)) {
    if (started_) feed(LinkDown{e->link});
    return;
  }
  if (auto* e = std::get_if<PeerRefused>(&event)) return notice(e->sentence);
  if (auto* e = std::get_if<HaltReceived>(&event)) {
    const auto kind = e->halt.kind == 0 ? HaltKind::kUserStop : HaltKind::kFailure;
    return started_ ? feed(PeerHalted{e->node, kind, e->halt.reason}) : abort(e->halt.reason, kind);
  }
  if (auto* e = std::get_if<LinkRefused>(&event)) return abort(e->sentence);
  if (auto* e = std::get_if<PeerRestarted>(&event)) return abort(e->sentence);
  if (auto* e = std::get_if<NetworkFailed>(&event)) return abort(e->sentence);
}

void Engine::on(MessageReceived& event) {
  const std::string from = name(plan_.links[event.link].from);
  const auto wire = decode_message(event.bytes);
  if (!wire)
    return abort(fmt::format("node {} sent a bad message: {}", from, wire.error().message));
  const bool known = wire->phase <= 1 && wire->shard < plan_.shards.size() &&
                     is_known(static_cast<Form>(wire->form));
  const auto channel =
      known ? plan_.find_channel(event.link, wire->shard, static_cast<Phase>(wire->phase))
            : std::nullopt;
  if (!channel || wire->payload.size() > payload_bytes_max(plan_, *channel))
    return abort(fmt::format("node {} sent a message that the plan does not know", from));
  Message message;
  message.channel = *channel;
  message.round = wire->round;
  message.generation = wire->generation;
  message.restart = (wire->flags & kFlagRestart) != 0;
  message.form = static_cast<Form>(wire->form);
  message.payload_bytes = static_cast<std::uint32_t>(wire->payload.size());
  message.digest = wire->digest;
  std::copy_n(wire->control.begin(), std::min(wire->control.size(), message.control.size()),
              message.control.begin());
  if (message.form == Form::kEmpty) return feed(MessageArrived{message, kNoPayload});
  const PayloadId payload = next_payload_++;
  payloads_.emplace(payload, std::vector<std::byte>(wire->payload.begin(), wire->payload.end()));
  feed(MessageArrived{message, payload});
}

void Engine::on(const AppliedReceived& event) {
  const Applied& applied = event.applied;
  const bool known =
      applied.phase <= 1 && applied.shard < plan_.shards.size() && applied.outcome <= 1;
  const auto channel =
      known ? plan_.find_channel(event.link, applied.shard, static_cast<Phase>(applied.phase))
            : std::nullopt;
  if (!channel) return abort("a peer applied a message that the plan does not know");
  feed(MessageApplied{*channel, applied.round, applied.generation,
                      static_cast<ApplyOutcome>(applied.outcome)});
}

void Engine::act(const SendMessage& action) {
  const Message& message = action.message;
  const Channel& channel = plan_.channels[message.channel];
  WireMessage wire;
  wire.round = message.round;
  wire.generation = message.generation;
  wire.shard = channel.shard;
  wire.phase = static_cast<std::uint8_t>(channel.phase);
  wire.form = static_cast<std::uint8_t>(message.form);
  wire.flags = message.restart ? kFlagRestart : 0;
  wire.digest = message.digest;
  wire.control.assign(
      message.control.begin(),
      message.control.begin() + static_cast<std::ptrdiff_t>(controls_to_send(message.control)));
  const auto payload = payloads_.find(action.payload);
  if (payload != payloads_.end()) wire.payload = payload->second;
  network_->send(channel.link, encode_message(wire));
  if (payload != payloads_.end()) payloads_.erase(payload);
}

void Engine::act(const SendApplied& action) {
  const Channel& channel = plan_.channels[action.channel];
  network_->send_applied(channel.link, Applied{action.round, action.generation, channel.shard,
                                               static_cast<std::uint8_t>(channel.phase),
                                               static_cast<std::uint8_t>(action.outcome)});
}

void Engine::act(const ApplyMessage& action) {
  const auto payload = payloads_.find(action.payload);
  worker_->apply(action, std::move(payload->second));
  payloads_.erase(payload);
}

void Engine::act(const Finish& action) {
  end_.outcome = action.outcome;
  end_.reason = action.reason;
  end_.text = action.text;
  end_.seconds = to_seconds(now() - begun_);
  ended_ = true;
}

void Engine::act(Action& action) {
  if (auto* a = std::get_if<ComputeGradient>(&action)) return trainer_->gradient(a->round);
  if (auto* a = std::get_if<Evaluate>(&action)) return trainer_->evaluate(a->round);
  if (auto* a = std::get_if<AdvanceChannel>(&action)) return worker_->advance(*a);
  if (auto* a = std::get_if<StepShard>(&action)) return worker_->step(*a);
  if (auto* a = std::get_if<ApplyMessage>(&action)) return act(*a);
  if (auto* a = std::get_if<SendMessage>(&action)) return act(*a);
  if (auto* a = std::get_if<SendApplied>(&action)) return act(*a);
  if (auto* a = std::get_if<Finish>(&action)) return act(*a);
  if (std::get_if<SendBye>(&action)) return network_->send_bye();
  if (auto* a = std::get_if<SendHalt>(&action)) {
    return network_->send_halt(
        Halt{name(setup_.self), static_cast<std::uint8_t>(a->kind), a->reason});
  }
  if (const auto* made = std::get_if<Report>(&action)) {
    if (observer_.report) watch(observer_.report(now(), made->round));
    if (observer_.counters) observer_.counters(counters());
  } else if (const auto* decided = std::get_if<Decided>(&action)) {
    if (observer_.decision) watch(observer_.decision(now(), decided->decision));
  } else if (const auto* said = std::get_if<Notice>(&action)) {
    notice(said->text);
  }
}

}  // namespace kimesh
