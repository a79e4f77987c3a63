#include "src/vectors/state.h"

#include <algorithm>
#include <utility>

#include "kernels/vector_math.h"
#include "kimesh/ef21/channel.h"
#include "kimesh/util/check.h"

namespace kimesh {

Vectors::State::State(const Plan& plan_in, NodeIndex self_in, VectorsOptions options_in)
    : plan(plan_in),
      self(self_in),
      options(std::move(options_in)),
      parameters(plan.layout.size()),
      gradient(plan.layout.size()) {
  if (keeps_velocity(options.optimizer)) velocity = AlignedBuffer(plan.layout.size());
  std::size_t largest = 0;
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    const std::size_t size = plan.shards[s].size;
    largest = std::max(largest, size);
    const Seat& seat = plan.seats[s][self];
    for (const ChannelIndex channel : seat.reduce_in)
      estimates.emplace(channel, AlignedBuffer(size));
    if (plan.shards[s].owner == self)
      optimizers.emplace(static_cast<ShardIndex>(s), ShardOptimizer(options.optimizer, size));
    if (!options.keeps_estimates) continue;
    if (seat.reduce_out) estimates.emplace(*seat.reduce_out, AlignedBuffer(size));
    for (const ChannelIndex channel : seat.gather_out)
      estimates.emplace(channel, AlignedBuffer(size));
  }
  target = AlignedBuffer(largest);
}

std::span<float> Vectors::State::shard_span(ShardIndex shard) {
  return parameters.span().subspan(plan.shards[shard].begin, plan.shards[shard].size);
}

std::span<float> Vectors::State::estimate_span(ChannelIndex channel) {
  const auto found = estimates.find(channel);
  return found == estimates.end() ? std::span<float>{} : found->second.span();
}

std::span<float> Vectors::State::writable(BufferId buffer, ShardIndex shard) {
  if (buffer.kind == BufferId::Kind::kEstimate) {
    KIMESH_CHECK(plan.channels[buffer.index].shard == shard, "an estimate of the action's shard");
    return estimate_span(buffer.index);
  }
  KIMESH_CHECK(buffer.kind == BufferId::Kind::kParameters, "a contribution is read only");
  KIMESH_CHECK(buffer.index == shard, "parameters of the action's shard");
  KIMESH_CHECK(plan.shards[shard].owner != self, "the owner's parameters change by its optimizer");
  return shard_span(shard);
}

void Vectors::State::add_term(BufferId term, ShardIndex shard, bool first) {
  const std::size_t begin = plan.shards[shard].begin;
  const std::span<float> out = target.span().first(plan.shards[shard].size);
  if (term.kind == BufferId::Kind::kContribution) {
    KIMESH_CHECK(term.index == shard, "a contribution of the action's shard");
    const AlignedBuffer& source = velocity.empty() ? gradient : velocity;
    const float* direction = source.span().data() + begin;
    const auto weight = static_cast<float>(options.data_weight);
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

std::span<const float> Vectors::State::sum(std::span<const BufferId> terms, ShardIndex shard) {
  KIMESH_CHECK(!terms.empty(), "a sum has a term");
  if (terms.size() == 1 && terms[0] == BufferId{BufferId::Kind::kParameters, shard})
    return shard_span(shard);
  for (std::size_t t = 0; t < terms.size(); ++t) add_term(terms[t], shard, t == 0);
  return std::as_const(target).span().first(plan.shards[shard].size);
}

Result<Advanced> Vectors::State::send(const AdvanceChannel& action, std::span<const float> wanted,
                                      std::span<float> estimate) {
  const std::span<const Piece> pieces = pieces_of(plan.channels[action.channel].shard);
  if (action.feedback != Feedback::kEf14 || estimate.empty())
    return advance_channel(wanted, estimate, pieces, action.setting, action.restart, scratch,
                           action.curve);
  // The sum of a reduce is made in `target`, which nobody reads after this.
  const std::span<float> own = target.span().first(wanted.size());
  KIMESH_CHECK(own.data() == wanted.data(), "what a reduce wants is a sum");
  return advance_residual(own, estimate, pieces, action.setting, scratch, action.curve);
}

std::span<const Piece> Vectors::State::pieces_of(ShardIndex shard) {
  pieces_.clear();
  for (const LayerSlice& slice : plan.shards[shard].layers)
    pieces_.push_back({slice.offset, slice.size});
  return pieces_;
}

std::string Vectors::State::describe_not_finite(std::span<const float> values,
                                                ShardIndex shard) const {
  const auto bad = kernels::first_not_finite(values);
  // Both sides may be finite and their difference too large for float32.
  if (!bad) return "a difference of shard " + std::to_string(shard) + " is infinite";
  const auto slice = std::ranges::find_if(plan.shards[shard].layers, [&](const LayerSlice& s) {
    return *bad >= s.offset && *bad - s.offset < s.size;
  });
  KIMESH_CHECK(slice != plan.shards[shard].layers.end(), "layers cover the shard");
  const LayoutLayer& layer = plan.layout.layers[slice->layer];
  const std::size_t element = plan.shards[shard].begin + *bad - layer.offset;
  const std::string name = layer.name.empty() ? "" : "layer " + layer.name + ", ";
  return name + "element " + std::to_string(element) + " is NaN or infinite";
}

}  // namespace kimesh
