#include "src/vectors/host_store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/vector_math.h"
#include "kimesh/ef21/channel.h"
#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"

namespace kimesh {
namespace {

void flip_lowest_bit(float& x) {
  x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ 1u);
}

}  // namespace

Vectors::HostStore::HostStore(const Plan& plan, NodeIndex self, const VectorsOptions& options)
    : Store(plan, self, options),
      parameters_(plan.layout.size()),
      gradient_(plan.layout.size()),
      target_(largest_shard()) {
  if (options.optimizer.keeps_velocity()) velocity_ = AlignedBuffer(plan.layout.size());
  for (const ChannelIndex channel : kept_estimates())
    estimates_.emplace(channel, AlignedBuffer(elements_of(channel)));
  for (std::size_t s = 0; s < plan.shards.size(); ++s)
    if (plan.shards[s].owner == self)
      optimizers_.emplace(static_cast<ShardIndex>(s),
                          ShardOptimizer(options.optimizer, plan.shards[s].size));
}

void Vectors::HostStore::start() {
  if (!options().keeps_estimates) return;
  for (std::size_t s = 0; s < plan().shards.size(); ++s)
    for (const ChannelIndex channel : plan().seats[s][self()].gather_out)
      std::ranges::copy(shard_span(static_cast<ShardIndex>(s)), estimate_span(channel).begin());
}

Status Vectors::HostStore::fold_gradient() {
  prepare_gradient(options().optimizer, parameters_.span(), gradient_.span(), velocity_.span());
  return ok_status();
}

std::span<float> Vectors::HostStore::shard_span(ShardIndex shard) {
  return parameters_.span().subspan(plan().shards[shard].begin, plan().shards[shard].size);
}

std::span<float> Vectors::HostStore::estimate_span(ChannelIndex channel) {
  const auto found = estimates_.find(channel);
  return found == estimates_.end() ? std::span<float>{} : found->second.span();
}

std::span<float> Vectors::HostStore::writable(BufferId buffer, ShardIndex shard) {
  check_writable(buffer, shard);
  return buffer.kind == BufferId::Kind::kEstimate ? estimate_span(buffer.index) : shard_span(shard);
}

void Vectors::HostStore::add_term(BufferId term, ShardIndex shard, bool first) {
  const std::size_t begin = plan().shards[shard].begin;
  const std::span<float> out = target_.span().first(plan().shards[shard].size);
  if (term.kind == BufferId::Kind::kContribution) {
    KIMESH_CHECK(term.index == shard, "a contribution of the action's shard");
    const AlignedBuffer& source = velocity_.empty() ? gradient_ : velocity_;
    const float* direction = source.span().data() + begin;
    const auto weight = static_cast<float>(options().data_weight);
    for (std::size_t j = 0; j < out.size(); ++j) {
      const float weighted = weight * direction[j];
      out[j] = first ? weighted : out[j] + weighted;
    }
    return;
  }
  const std::span<const float> source =
      term.kind == BufferId::Kind::kEstimate ? estimate_span(term.index) : shard_span(shard);
  KIMESH_CHECK(source.size() == out.size(), "a term that this node holds, of the shard's size");
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = first ? source[j] : out[j] + source[j];
}

std::span<const float> Vectors::HostStore::sum(std::span<const BufferId> terms, ShardIndex shard) {
  KIMESH_CHECK(!terms.empty(), "a sum has a term");
  if (terms.size() == 1 && terms[0] == BufferId{BufferId::Kind::kParameters, shard})
    return shard_span(shard);
  for (std::size_t t = 0; t < terms.size(); ++t) add_term(terms[t], shard, t == 0);
  return std::as_const(target_).span().first(plan().shards[shard].size);
}

Result<Advanced> Vectors::HostStore::send(const AdvanceChannel& action,
                                          std::span<const float> wanted,
                                          std::span<float> estimate) {
  const std::span<const Piece> pieces = pieces_of(plan().channels[action.channel].shard);
  if (action.feedback != Feedback::kEf14 || estimate.empty())
    return advance_channel(wanted, estimate, pieces, action.setting, action.restart, scratch_,
                           action.curve);
  // The sum of a reduce is made in `target_`, which nobody reads after this.
  const std::span<float> own = target_.span().first(wanted.size());
  KIMESH_CHECK(own.data() == wanted.data(), "what a reduce wants is a sum");
  return advance_residual(own, estimate, pieces, action.setting, scratch_, action.curve);
}

Result<AdvanceResult> Vectors::HostStore::advance(const AdvanceChannel& action) {
  const ShardIndex shard = plan().channels[action.channel].shard;
  const std::span<float> estimate = writable(action.estimate, shard);
  const std::span<const float> target = sum(action.terms, shard);
  auto made = send(action, target, estimate);
  if (!made) return not_finite(kernels::first_not_finite(target), shard);
  return with_digest(std::move(*made), action.digest ? channel_digest(target, estimate) : 0);
}

Result<std::uint64_t> Vectors::HostStore::apply(const ApplyMessage& action,
                                                std::span<const std::byte> payload) {
  const std::span<float> estimate =
      writable(action.estimate, plan().channels[action.channel].shard);
  KIMESH_CHECK(!estimate.empty(), "a receiver holds its estimate");
  const Status applied = apply_to_channel(action.form, payload, estimate, action.restart);
  if (!applied) return applied.error();
  return action.digest ? digest_floats(estimate) : 0;
}

Result<std::uint64_t> Vectors::HostStore::step(const StepShard& action) {
  const std::span<float> parameters = shard_span(action.shard);
  const std::span<const float> direction = sum(action.terms, action.shard);
  if (const auto bad = kernels::first_not_finite(direction)) return not_finite(bad, action.shard);
  optimizers_.at(action.shard).step(action.round, parameters, direction);
  return action.digest ? digest_floats(parameters) : 0;
}

std::size_t Vectors::HostStore::bytes_held() const {
  std::size_t floats = parameters_.size() + gradient_.size() + velocity_.size() + target_.size();
  for (const auto& [channel, estimate] : estimates_) floats += estimate.size();
  std::size_t bytes = floats * sizeof(float);
  for (const auto& [shard, optimizer] : optimizers_) bytes += optimizer.bytes_held();
  return bytes;
}

void Vectors::HostStore::corrupt_parameters(ShardIndex shard) {
  flip_lowest_bit(shard_span(shard)[0]);
}

void Vectors::HostStore::corrupt_estimate(ChannelIndex channel) {
  flip_lowest_bit(estimate_span(channel)[0]);
}

}  // namespace kimesh
