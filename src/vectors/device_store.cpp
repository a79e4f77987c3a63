#include "src/vectors/device_store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kimesh/compress/device.h"
#include "kimesh/optimizer/optimizer.h"
#include "kimesh/util/check.h"

namespace kimesh {

using kernels::MemoryBuffer;
using kernels::MemorySpan;

Vectors::DeviceStore::DeviceStore(const Plan& plan, NodeIndex self, const VectorsOptions& options)
    : Store(plan, self, options),
      device_(*options.device),
      gradient_device_(*options.gradient_device),
      host_parameters_(plan.layout.size()),
      host_gradient_(plan.layout.size()),
      parameters_(allocate(plan.layout.size())),
      gradient_(allocate(plan.layout.size())),
      target_(allocate(largest_shard())) {
  if (options.optimizer.keeps_velocity()) velocity_ = allocate(plan.layout.size());
  for (const ChannelIndex channel : kept_estimates())
    estimates_.emplace(channel, allocate(elements_of(channel)));
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    if (plan.shards[s].owner != self) continue;
    std::vector<MemoryBuffer>& vectors = optimizer_state_[static_cast<ShardIndex>(s)].vectors;
    for (std::size_t i = 0; i < options.optimizer.kind->state_vectors(); ++i)
      vectors.push_back(allocate(plan.shards[s].size));
  }
}

MemoryBuffer Vectors::DeviceStore::allocate(std::size_t size) {
  auto made = device_.allocate(size);
  if (made) return std::move(*made);
  if (allocated_) {
    allocated_ = Error{made.error().code, "the vectors of this node do not fit on " +
                                              device_.name() + ": " + made.error().message};
  }
  return {};
}

void Vectors::DeviceStore::start() {
  if (!allocated_) return;
  device_.upload(host_parameters_.span(), parameters_.floats());
  if (options().keeps_estimates)
    for (std::size_t s = 0; s < plan().shards.size(); ++s)
      for (const ChannelIndex channel : plan().seats[s][self()].gather_out)
        device_.copy(shard_of(parameters_, static_cast<ShardIndex>(s)), estimate_of(channel));
  allocated_ = device_.finish();
}

Status Vectors::DeviceStore::bring_parameters() {
  if (!allocated_) return allocated_;
  if (!parameters_changed_) return ok_status();
  Status brought = gradient_device_.download(parameters_.floats(), host_parameters_.span());
  if (brought) parameters_changed_ = false;  // nothing changes them while they are read
  return brought;
}

Status Vectors::DeviceStore::fold_gradient() {
  if (!allocated_) return allocated_;
  const OptimizerOptions& optimizer = options().optimizer;
  const OptimizerKind::AtWorkers worker = optimizer.kind->at_workers();
  const MemorySpan gradient = gradient_.floats();
  gradient_device_.upload(host_gradient_.span(), gradient);
  if (optimizer.clip) gradient_device_.clip(*optimizer.clip, gradient);
  if (worker.decay != 0)
    gradient_device_.add_scaled(static_cast<float>(worker.decay), parameters_.floats(), gradient);
  if (velocity_.size() > 0)
    gradient_device_.momentum(static_cast<float>(worker.momentum), gradient, velocity_.floats());
  return gradient_device_.finish();
}

MemorySpan Vectors::DeviceStore::shard_of(const MemoryBuffer& whole, ShardIndex shard) const {
  return whole.floats().subspan(plan().shards[shard].begin, plan().shards[shard].size);
}

MemorySpan Vectors::DeviceStore::estimate_of(ChannelIndex channel) const {
  const auto found = estimates_.find(channel);
  return found == estimates_.end() ? MemorySpan{} : found->second.floats();
}

MemorySpan Vectors::DeviceStore::writable(BufferId buffer, ShardIndex shard) const {
  check_writable(buffer, shard);
  return buffer.kind == BufferId::Kind::kEstimate ? estimate_of(buffer.index)
                                                  : shard_of(parameters_, shard);
}

void Vectors::DeviceStore::add_term(BufferId term, ShardIndex shard, bool first) {
  const MemorySpan out = target_.floats().subspan(0, plan().shards[shard].size);
  if (term.kind == BufferId::Kind::kContribution) {
    KIMESH_CHECK(term.index == shard, "a contribution of the action's shard");
    const MemorySpan source = shard_of(velocity_.size() > 0 ? velocity_ : gradient_, shard);
    const auto weight = static_cast<float>(options().data_weight);
    return first ? device_.scale(weight, source, out) : device_.add_scaled(weight, source, out);
  }
  const MemorySpan source = term.kind == BufferId::Kind::kEstimate ? estimate_of(term.index)
                                                                   : shard_of(parameters_, shard);
  KIMESH_CHECK(source.size == out.size, "a term that this node holds, of the shard's size");
  return first ? device_.copy(source, out) : device_.add(source, out);
}

MemorySpan Vectors::DeviceStore::sum(std::span<const BufferId> terms, ShardIndex shard) {
  KIMESH_CHECK(!terms.empty(), "a sum has a term");
  if (terms.size() == 1 && terms[0] == BufferId{BufferId::Kind::kParameters, shard})
    return shard_of(parameters_, shard);
  for (std::size_t t = 0; t < terms.size(); ++t) add_term(terms[t], shard, t == 0);
  return target_.floats().subspan(0, plan().shards[shard].size);
}

// As advance_channel and advance_residual of ef21/channel.h.
Result<Advanced> Vectors::DeviceStore::send(const AdvanceChannel& action, MemorySpan target,
                                            MemorySpan estimate) {
  const std::span<const Piece> pieces = pieces_of(plan().channels[action.channel].shard);
  const bool residual = action.feedback == Feedback::kEf14 && estimate.size > 0;
  KIMESH_CHECK(!residual || target.data == target_.floats().data, "what a reduce wants is a sum");
  if (residual) device_.subtract(estimate, target);
  if ((action.restart || residual) && estimate.size > 0) {
    const auto bad = device_.first_not_finite(target);
    if (!bad) return bad.error();
    if (*bad) return Error{ErrorCode::kNotFinite, "an element of the target"};
    device_.fill(estimate, 0);
  }
  auto made =
      kimesh::advance(device_, target, estimate, pieces, action.setting, scratch_, action.curve);
  if (made && residual) device_.subtract(target, estimate);
  return made;
}

Result<AdvanceResult> Vectors::DeviceStore::advance(const AdvanceChannel& action) {
  if (!allocated_) return allocated_.error();
  const ShardIndex shard = plan().channels[action.channel].shard;
  const MemorySpan estimate = writable(action.estimate, shard);
  const MemorySpan target = sum(action.terms, shard);
  auto made = send(action, target, estimate);
  if (!made && made.error().code == ErrorCode::kNotFinite) {
    const auto bad = device_.first_not_finite(target);
    return bad ? not_finite(*bad, shard) : bad.error();
  }
  if (!made) return made.error();
  const auto digest = finish(action.digest, estimate.size > 0 ? estimate : target);
  if (!digest) return digest.error();
  return with_digest(std::move(*made), *digest);
}

Result<std::uint64_t> Vectors::DeviceStore::apply(const ApplyMessage& action,
                                                  std::span<const std::byte> payload) {
  if (!allocated_) return allocated_.error();
  const MemorySpan estimate = writable(action.estimate, plan().channels[action.channel].shard);
  KIMESH_CHECK(estimate.size > 0, "a receiver holds its estimate");
  if (action.restart) {
    if (Status valid = validate(action.form, payload, estimate.size); !valid) return valid.error();
    if (action.form != Form::kDense) device_.fill(estimate, 0);
  }
  const Status applied = kimesh::apply(action.form, payload, device_, estimate);
  if (!applied) return applied.error();
  if (action.estimate.kind == BufferId::Kind::kParameters) parameters_changed_ = true;
  return finish(action.digest, estimate);
}

void Vectors::DeviceStore::take_step(const StepShard& action, MemorySpan direction) {
  const OptimizerOptions& optimizer = options().optimizer;
  OptimizerState& own = optimizer_state_.at(action.shard);
  std::vector<MemorySpan> state;
  for (const MemoryBuffer& vector : own.vectors) state.push_back(vector.floats());
  parameters_changed_ = true;
  optimizer.kind->step({optimizer.learning_rate(action.round), ++own.steps}, device_, direction,
                       state, shard_of(parameters_, action.shard));
}

Result<std::uint64_t> Vectors::DeviceStore::step(const StepShard& action) {
  if (!allocated_) return allocated_.error();
  const MemorySpan direction = sum(action.terms, action.shard);
  const auto bad = device_.first_not_finite(direction);
  if (!bad) return bad.error();
  if (*bad) return not_finite(*bad, action.shard);
  take_step(action, direction);
  return finish(action.digest, shard_of(parameters_, action.shard));
}

Result<std::uint64_t> Vectors::DeviceStore::finish(bool digest, MemorySpan of) {
  if (digest) return device_.digest(of);
  if (Status done = device_.finish(); !done) return done.error();
  return std::uint64_t{0};
}

std::span<const float> Vectors::DeviceStore::shard(ShardIndex shard) {
  (void)bring_parameters();
  return host_parameters_.span().subspan(plan().shards[shard].begin, plan().shards[shard].size);
}

std::span<const float> Vectors::DeviceStore::estimate(ChannelIndex channel) {
  const MemorySpan floats = estimate_of(channel);
  looked_at_ = AlignedBuffer(floats.size);
  (void)device_.download(floats, looked_at_.span());
  return looked_at_.span();
}

std::size_t Vectors::DeviceStore::bytes_held() const {
  std::size_t floats = host_parameters_.size() + host_gradient_.size() + parameters_.size() +
                       gradient_.size() + velocity_.size() + target_.size();
  for (const auto& [channel, estimate] : estimates_) floats += estimate.size();
  for (const auto& [shard, state] : optimizer_state_)
    for (const MemoryBuffer& vector : state.vectors) floats += vector.size();
  return floats * sizeof(float);
}

void Vectors::DeviceStore::flip_lowest_bit(MemorySpan floats) {
  float first = 0;
  (void)device_.download(floats.subspan(0, 1), std::span(&first, 1));
  first = std::bit_cast<float>(std::bit_cast<std::uint32_t>(first) ^ 1u);
  device_.upload(std::span(&first, 1), floats.subspan(0, 1));
}

void Vectors::DeviceStore::corrupt_parameters(ShardIndex shard) {
  flip_lowest_bit(shard_of(parameters_, shard));
  parameters_changed_ = true;
}

void Vectors::DeviceStore::corrupt_estimate(ChannelIndex channel) {
  flip_lowest_bit(estimate_of(channel));
}

}  // namespace kimesh
