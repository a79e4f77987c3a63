#include "kimesh/vectors/vectors.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "kernels/vector_math.h"
#include "kimesh/ef21/channel.h"
#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"
#include "src/vectors/state.h"

namespace kimesh {
namespace {

// "shard 2, reduce from a to b, round 17".
std::string name_of(const Plan& plan, ChannelIndex channel, Round round) {
  const Link& link = plan.link_of(channel);
  const bool reduce = plan.channels[channel].phase == Phase::kReduce;
  return "shard " + std::to_string(plan.channels[channel].shard) +
         (reduce ? ", reduce from " : ", gather from ") + plan.view.nodes[link.from] + " to " +
         plan.view.nodes[link.to] + ", round " + std::to_string(round);
}

}  // namespace

Vectors::Vectors(const Plan& plan, NodeIndex self, VectorsOptions options)
    : state_(std::make_unique<State>(plan, self, std::move(options))) {}
Vectors::~Vectors() = default;
Vectors::Vectors(Vectors&&) noexcept = default;

std::span<float> Vectors::parameters() {
  return state_->parameters.span();
}
std::span<float> Vectors::gradient() {
  return state_->gradient.span();
}

void Vectors::start() {
  if (!state_->options.keeps_estimates) return;
  for (std::size_t s = 0; s < state_->plan.shards.size(); ++s)
    for (const ChannelIndex channel : state_->plan.seats[s][state_->self].gather_out)
      std::ranges::copy(state_->shard_span(static_cast<ShardIndex>(s)),
                        state_->estimate_span(channel).begin());
}

void Vectors::fold_gradient() {
  kimesh::fold_gradient(state_->options.optimizer, state_->parameters.span(),
                        state_->gradient.span(), state_->velocity.span());
}

Result<AdvanceResult> Vectors::advance(const AdvanceChannel& action) {
  if (state_->step_error) return *state_->step_error;
  const Plan& plan = state_->plan;
  const Channel& channel = plan.channels[action.channel];
  KIMESH_CHECK(action.estimate.kind == BufferId::Kind::kEstimate, "an outgoing channel's estimate");
  KIMESH_CHECK(!action.restart || channel.phase == Phase::kReduce ||
                   action.setting.compressor == Compressor::kIdentity,
               "a restarted gather assigns");
  const std::span<float> estimate = state_->writable(action.estimate, channel.shard);
  KIMESH_CHECK(!estimate.empty() || action.setting.compressor == Compressor::kIdentity,
               "without an estimate every message is dense");
  const std::span<const float> target = state_->sum(action.terms, channel.shard);
  auto made = state_->send(action, target, estimate);
  if (!made) {
    return Error{made.error().code, state_->describe_not_finite(target, channel.shard) + " (" +
                                        name_of(plan, action.channel, action.round) + ")"};
  }
  AdvanceResult result{
      std::move(made->bytes), made->form, made->wanted_energy, made->missing_energy, 0,
      std::move(made->curve), made->kept};
  if (action.digest) result.digest = channel_digest(target, estimate);
  return result;
}

Result<std::uint64_t> Vectors::apply(const ApplyMessage& action,
                                     std::span<const std::byte> payload) {
  const Channel& channel = state_->plan.channels[action.channel];
  const std::span<float> estimate = state_->writable(action.estimate, channel.shard);
  KIMESH_CHECK(!estimate.empty(), "a receiver holds its estimate");
  const bool zeroes_parameters =
      action.restart && channel.phase == Phase::kGather && action.form != Form::kDense;
  Status status = zeroes_parameters
                      ? Status(Error{ErrorCode::kMalformed, "a restarted gather that is not dense"})
                      : apply_to_channel(action.form, payload, estimate, action.restart);
  if (!status) {
    return Error{
        status.error().code,
        status.error().message + " (" + name_of(state_->plan, action.channel, action.round) + ")"};
  }
  return action.digest ? digest_floats(estimate) : 0;
}

std::uint64_t Vectors::step(const StepShard& action) {
  const auto optimizer = state_->optimizers.find(action.shard);
  KIMESH_CHECK(optimizer != state_->optimizers.end(), "a shard that this node owns");
  const std::span<float> parameters = state_->shard_span(action.shard);
  const std::span<const float> direction = state_->sum(action.terms, action.shard);
  if (kernels::first_not_finite(direction)) {
    state_->step_error = {ErrorCode::kNotFinite,
                          state_->describe_not_finite(direction, action.shard) +
                              " (the gradient of shard " + std::to_string(action.shard) +
                              " at its owner, round " + std::to_string(action.round) + ")"};
  } else {
    optimizer->second.step(action.round, parameters, direction);
  }
  return action.digest ? digest_floats(parameters) : 0;
}

std::span<const float> Vectors::shard(ShardIndex shard) const {
  return state_->shard_span(shard);
}

std::span<const float> Vectors::estimate(ChannelIndex channel) const {
  const Plan& plan = state_->plan;
  const bool receives_gather =
      plan.channels[channel].phase == Phase::kGather && plan.link_of(channel).to == state_->self;
  return receives_gather ? shard(plan.channels[channel].shard) : state_->estimate_span(channel);
}

std::size_t Vectors::bytes_held() const {
  std::size_t floats = state_->parameters.size() + state_->gradient.size() +
                       state_->velocity.size() + state_->target.size();
  for (const auto& [channel, estimate] : state_->estimates) floats += estimate.size();
  std::size_t bytes = floats * sizeof(float);
  for (const auto& [shard, optimizer] : state_->optimizers) bytes += optimizer.bytes_held();
  return bytes;
}

void Vectors::corrupt_for_test(ChannelIndex channel) {
  const bool receives_gather = state_->plan.channels[channel].phase == Phase::kGather &&
                               state_->plan.link_of(channel).to == state_->self;
  const std::span<float> held = receives_gather
                                    ? state_->shard_span(state_->plan.channels[channel].shard)
                                    : state_->estimate_span(channel);
  KIMESH_CHECK(!held.empty(), "an end that keeps an estimate");
  held[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(held[0]) ^ 1u);
}

}  // namespace kimesh
