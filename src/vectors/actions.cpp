// The core's actions on vectors.
#include <utility>

#include "kimesh/ef21/channel.h"
#include "kimesh/util/check.h"
#include "store.h"

namespace kimesh {

using kernels::MemorySpan;

void Vectors::Store::add_term(BufferId term, ShardIndex shard, bool first) {
  const MemorySpan out = target_.floats().subspan(0, plan_.shards[shard].size);
  if (term.kind == BufferId::Kind::kContribution) {
    KIMESH_CHECK(term.index == shard, "a contribution of the action's shard");
    const MemorySpan source =
        shard_of(options_.optimizer.sends_velocity() ? velocity_ : gradient_, shard);
    const auto weight = static_cast<float>(options_.data_weight);
    return first ? memory_.scale(weight, source, out) : memory_.add_scaled(weight, source, out);
  }
  const MemorySpan source = term.kind == BufferId::Kind::kEstimate ? estimate_of(term.index)
                                                                   : shard_of(parameters_, shard);
  KIMESH_CHECK(source.size == out.size, "a term that this node holds, of the shard's size");
  return first ? memory_.copy(source, out) : memory_.add(source, out);
}

MemorySpan Vectors::Store::sum(std::span<const BufferId> terms, ShardIndex shard) {
  KIMESH_CHECK(!terms.empty(), "a sum has a term");
  if (terms.size() == 1 && terms[0] == BufferId{BufferId::Kind::kParameters, shard})
    return shard_of(parameters_, shard);
  for (std::size_t t = 0; t < terms.size(); ++t) add_term(terms[t], shard, t == 0);
  return target_.floats().subspan(0, plan_.shards[shard].size);
}

Result<Advanced> Vectors::Store::send(const AdvanceChannel& action, MemorySpan target,
                                      MemorySpan estimate) {
  const ChannelEnd sender{memory_, estimate};
  const ChannelMessage message{pieces_of(plan_.channels[action.channel].shard), action.setting,
                               action.restart, action.curve};
  if (action.feedback != Feedback::kEf14 || estimate.empty())
    return advance_channel(sender, target, message, scratch_);
  // The sum of a reduce is made in `target_`, which nobody reads after this.
  KIMESH_CHECK(target.data == target_.floats().data, "what a reduce wants is a sum");
  return advance_residual(sender, target, message, scratch_);
}

Result<AdvanceDone> Vectors::Store::advance(const AdvanceChannel& action) {
  if (!allocated_) return allocated_.error();
  const ShardIndex shard = plan_.channels[action.channel].shard;
  const MemorySpan estimate = writable(action.estimate, shard);
  const MemorySpan target = sum(action.terms, shard);
  auto made = send(action, target, estimate);
  if (!made && made.error().code == ErrorCode::kNotFinite) {
    const auto bad = memory_.first_not_finite(target);
    return bad ? not_finite(*bad, shard) : bad.error();
  }
  if (!made) return made.error();
  const auto digest = action.digest ? channel_digest({memory_, estimate}, target) : finish();
  if (!digest) return digest.error();
  AdvanceDone done;
  done.channel = action.channel;
  done.round = action.round;
  done.form = made->form;
  done.wanted_energy = made->wanted_energy;
  done.missing_energy = made->missing_energy;
  done.digest = *digest;
  done.curve = std::move(made->curve);
  done.kept = made->kept;
  done.payload = Payload(std::move(made->bytes));
  return done;
}

Result<std::uint64_t> Vectors::Store::apply(const ApplyMessage& action,
                                            std::span<const std::byte> payload) {
  if (!allocated_) return allocated_.error();
  const MemorySpan estimate = writable(action.estimate, plan_.channels[action.channel].shard);
  KIMESH_CHECK(!estimate.empty(), "a receiver holds its estimate");
  const Status applied =
      apply_to_channel({memory_, estimate}, action.form, payload, action.restart);
  if (!applied) return applied.error();
  if (action.estimate.kind == BufferId::Kind::kParameters) host_is_behind_ = true;
  return action.digest ? memory_.digest(estimate) : finish();
}

Result<std::uint64_t> Vectors::Store::step(const StepShard& action) {
  if (!allocated_) return allocated_.error();
  const MemorySpan direction = sum(action.terms, action.shard);
  const auto bad = memory_.first_not_finite(direction);
  if (!bad) return bad.error();
  if (*bad) return not_finite(*bad, action.shard);
  const MemorySpan parameters = shard_of(parameters_, action.shard);
  host_is_behind_ = true;
  optimizers_.at(action.shard).step(action.round, parameters, direction);
  return action.digest ? memory_.digest(parameters) : finish();
}

Result<std::uint64_t> Vectors::Store::finish() {
  if (Status done = memory_.finish(); !done) return done.error();
  return std::uint64_t{0};
}

}  // namespace kimesh
