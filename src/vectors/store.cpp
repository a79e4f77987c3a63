#include "store.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

kernels::Memory& memory_of(const std::shared_ptr<kernels::Memory>& memory) {
  return memory == nullptr ? kernels::host_memory() : *memory;
}

std::size_t largest_shard(const Plan& plan) {
  std::size_t largest = 0;
  for (const Shard& shard : plan.shards) largest = std::max(largest, shard.size);
  return largest;
}

}  // namespace

Vectors::Store::Store(const Plan& plan, NodeIndex self, const VectorsOptions& options)
    : plan_(plan),
      self_(self),
      options_(options),
      memory_(memory_of(options.memory)),
      gradient_memory_(memory_of(options.gradient_memory)),
      parameters_(bound_floats(has_point() ? std::span<float>() : options.point_floats)),
      gradient_(bound_floats(options.gradient_floats)),
      target_(allocate(largest_shard(plan))) {
  KIMESH_CHECK(memory_.on_host() == gradient_memory_.on_host(), "two queues of a device or none");
  KIMESH_CHECK(!options.objective_on_device || !memory_.on_host(), "an objective on the device");
  if (options.optimizer.keeps_velocity() || keeps_movement_of_descent())
    velocity_ = allocate(plan.layout.size());
  allocate_estimates();
  allocate_owned();
  allocate_worker_optimizer();
  if (has_point()) {
    KIMESH_CHECK(sends_movements(), "a node knows its own movement");
    point_ = bound_floats(options.point_floats);
  }
  KIMESH_CHECK(!options.local_steps_vary || sends_movements(), "movements may be sums");
  if (takes_local_steps()) moved_ = allocate(plan.layout.size());
  if (memory_.on_host()) return;
  if (options.point_floats.empty()) host_point_ = AlignedBuffer(plan.layout.size());
  if (options.gradient_floats.empty() && !options.objective_on_device)
    host_gradient_ = AlignedBuffer(plan.layout.size());
}

kernels::MemoryBuffer Vectors::Store::bound_floats(std::span<float> given) {
  if (given.empty() || !memory_.on_host()) return allocate(plan_.layout.size());
  KIMESH_CHECK(given.size() == plan_.layout.size(), "a program's vectors have the layout's size");
  return {kernels::MemorySpan(given), nullptr};
}

kernels::MemoryBuffer Vectors::Store::allocate(std::size_t size) {
  auto made = memory_.allocate(size);
  if (made) return std::move(*made);
  if (allocated_) {
    allocated_ = Error{made.error().code, "the vectors of this node do not fit on " +
                                              memory_.name() + ": " + made.error().message};
  }
  return {};
}

// Goes through this node's channels only, since a plan of 1,000 nodes has millions.
void Vectors::Store::allocate_estimates() {
  for (ShardIndex s = 0; s < plan_.shards.size(); ++s) {
    const NodeChannels& here = plan_.node_channels[s][self_];
    if (sums_arrivals() && !here.reduce_in.empty())
      arrivals_.emplace(s, Arrivals(here.reduce_in, allocate(plan_.shards[s].size)));
    std::vector<ChannelIndex> kept;
    if (!reads_payloads() && !sums_arrivals())
      kept.assign(here.reduce_in.begin(), here.reduce_in.end());
    if (options_.keeps_estimates) {
      if (here.reduce_out) kept.push_back(*here.reduce_out);
      for (const ChannelIndex channel : here.gather_out)
        if (options_.gather == Gather::kPerLink && !is_parameters(channel)) kept.push_back(channel);
    }
    for (const ChannelIndex channel : kept)
      estimates_.emplace(channel, allocate(plan_.shards[plan_.channels[channel].shard].size));
  }
}

void Vectors::Store::allocate_owned() {
  for (std::size_t i = 0; i < plan_.shards.size(); ++i) {
    const auto s = static_cast<ShardIndex>(i);
    if (!owns(s)) continue;
    const bool apart = options_.keeps_estimates && options_.one_point &&
                       !plan_.node_channels[s][self_].gather_out.empty();
    if (apart) owned_.emplace(s, allocate(plan_.shards[s].size));
    if (sends_movements()) continue;
    auto made = ShardOptimizer::create(options_.optimizer, memory_, plan_.shards[s].size);
    if (made)
      optimizers_.emplace(s, std::move(*made));
    else if (allocated_)
      allocated_ = made.error();
  }
}

// Descent has no state, and its step is the gradient times a number.
void Vectors::Store::allocate_worker_optimizer() {
  if (!sends_movements() || options_.optimizer.kind->is_descent()) return;
  step_ = allocate(plan_.layout.size());
  kernels::Memory& memory = moves_with_gradient() ? gradient_memory_ : memory_;
  auto made = ShardOptimizer::create(options_.optimizer, memory, plan_.layout.size());
  if (made)
    worker_optimizer_ = std::move(*made);
  else if (allocated_)
    allocated_ = made.error();
}

std::span<float> Vectors::Store::point() {
  if (memory_.on_host()) return memory_.view(point_buffer().floats());
  return options_.point_floats.empty() ? host_point_.span() : options_.point_floats;
}

std::span<float> Vectors::Store::bound_point() {
  if (!options_.objective_on_device) return point();
  const kernels::MemorySpan floats = point_buffer().floats();
  return {floats.data, floats.size};
}

std::span<float> Vectors::Store::gradient() {
  if (options_.objective_on_device) return {gradient_.floats().data, gradient_.size()};
  if (memory_.on_host()) return memory_.view(gradient_.floats());
  return options_.gradient_floats.empty() ? host_gradient_.span() : options_.gradient_floats;
}

void Vectors::Store::start() {
  if (!allocated_) return;
  memory_.upload(point(), parameters_.floats());
  for (std::size_t s = 0; s < plan_.shards.size(); ++s)
    for (const ChannelIndex channel : plan_.node_channels[s][self_].gather_out)
      if (has_estimate(channel))
        memory_.copy(shard_of(parameters_, static_cast<ShardIndex>(s)), estimate_of(channel));
  for (const auto& [shard, owned] : owned_)
    memory_.copy(shard_of(parameters_, shard), owned.floats());
  allocated_ = memory_.finish();
}

Status Vectors::Store::read_parameters(std::span<float> w) {
  if (!allocated_) return allocated_;
  return gradient_memory_.download(parameters_.floats(), w);
}

Status Vectors::Store::make(kernels::MemoryBuffer& buffer, kernels::Memory& memory) {
  if (buffer.size() > 0) return ok_status();
  auto made = memory.allocate(plan_.layout.size());
  if (!made)
    return Error{made.error().code, "the vectors of several local steps do not fit on " +
                                        memory.name() + ": " + made.error().message};
  buffer = std::move(*made);
  return memory.finish();
}

Status Vectors::Store::prepare_gradient(Round round) {
  if (!allocated_) return allocated_;
  if (!options_.objective_on_device) gradient_memory_.upload(gradient(), gradient_.floats());
  clip_and_decay(options_.optimizer, gradient_memory_, point_buffer().floats(), gradient_.floats());
  if (sums_) {
    take_local_step(round);
    return show_point();
  }
  if (!options_.looks_ahead) {
    make_movement(round, gradient_memory_, false);
    is_sum_ = false;
  }
  return gradient_memory_.finish();
}

void Vectors::Store::take_local_step(Round round) {
  kernels::Memory& memory = gradient_memory_;
  if (point_ahead_ != 0) move_point_ahead(-point_ahead_, memory);
  make_movement(round, memory, taken_ahead_);
  if (!options_.looks_ahead) {
    is_sum_ = true;
    sum_scale_ = scale_;
  }
  if (options_.optimizer.kind->owner_decay() > 0) {
    const auto kept = static_cast<float>(options_.optimizer.kept_by_decay(round));
    memory.scale(kept, moved_.floats(), moved_.floats());
    memory.scale(kept, point_.floats(), point_.floats());
  }
  const auto [factor, step] = last_step(round);
  memory.add_scaled(static_cast<float>(factor), step.floats(), moved_.floats());
  memory.add_scaled(static_cast<float>(-factor), step.floats(), point_.floats());
  move_point_ahead(taken_ahead_ ? share_of_next_step() : 0, memory);
}

void Vectors::Store::make_movement(Round round, kernels::Memory& memory, bool taken_ahead) {
  const OptimizerOptions& optimizer = options_.optimizer;
  movement_round_ = round;
  is_in_velocity_ = keeps_movement_of_descent() ||
                    (optimizer.keeps_velocity() && (taken_ahead || optimizer.sends_velocity()));
  take_momentum(optimizer, memory, gradient_.floats(),
                optimizer.keeps_velocity() ? velocity_.floats() : kernels::MemorySpan{},
                taken_ahead);
  if (keeps_movement_of_descent()) memory.copy(gradient_.floats(), velocity_.floats());
  if (!worker_optimizer_) return;
  const auto& direction = is_in_velocity_ ? velocity_ : gradient_;
  worker_optimizer_->step_from_zero(round, step_.floats(), direction.floats());
}

void Vectors::Store::end_training() {
  for (kernels::MemoryBuffer* buffer : {&velocity_, &step_, &moved_, &sent_}) *buffer = {};
  worker_optimizer_.reset();
}

kernels::MemorySpan Vectors::Store::shard_of(const kernels::MemoryBuffer& whole,
                                             ShardIndex shard) const {
  return whole.floats().subspan(plan_.shards[shard].begin, plan_.shards[shard].size);
}

kernels::MemorySpan Vectors::Store::owned_of(ShardIndex shard) const {
  const auto found = owned_.find(shard);
  return found == owned_.end() ? shard_of(parameters_, shard) : found->second.floats();
}

bool Vectors::Store::is_parameters(ChannelIndex channel) const {
  const Channel& of = plan_.channels[channel];
  if (of.phase == Phase::kReduce) return false;
  const NodeChannels& here = plan_.node_channels[of.shard][self_];
  if (channel == here.gather_in) return true;
  if (!options_.keeps_estimates) return false;
  return options_.gather == Gather::kShared ||
         (options_.one_point && owns(of.shard) && channel == here.gather_out.front());
}

kernels::MemorySpan Vectors::Store::estimate_of(ChannelIndex channel) const {
  const auto found = estimates_.find(channel);
  return found == estimates_.end() ? kernels::MemorySpan{} : found->second.floats();
}

kernels::MemorySpan Vectors::Store::writable(BufferId buffer, ShardIndex shard) const {
  if (buffer.kind == BufferId::Kind::kEstimate) {
    KIMESH_CHECK(plan_.channels[buffer.index].shard == shard, "an estimate of the action's shard");
    return estimate_of(buffer.index);
  }
  KIMESH_CHECK(buffer.kind == BufferId::Kind::kParameters, "no channel writes other buffers");
  KIMESH_CHECK(buffer.index == shard, "parameters of the action's shard");
  KIMESH_CHECK(!owns(shard) || owned_.contains(shard),
               "the owner's only copy changes by its optimizer");
  return shard_of(parameters_, shard);
}

std::span<const Piece> Vectors::Store::pieces_of(ShardIndex shard) {
  pieces_.clear();
  for (const LayerSlice& slice : plan_.shards[shard].layers)
    pieces_.push_back({slice.offset, slice.size});
  return pieces_;
}

Error Vectors::Store::not_finite(std::optional<std::size_t> element, ShardIndex shard) const {
  if (!element) {
    return {ErrorCode::kNotFinite,
            "a difference of shard " + std::to_string(shard) + " is infinite"};
  }
  const auto slice = std::ranges::find_if(plan_.shards[shard].layers, [&](const LayerSlice& s) {
    return *element >= s.offset && *element - s.offset < s.size;
  });
  KIMESH_CHECK(slice != plan_.shards[shard].layers.end(), "layers cover the shard");
  const LayoutLayer& layer = plan_.layout.layers[slice->layer];
  const std::size_t of_layer = plan_.shards[shard].begin + *element - layer.offset;
  const std::string name = layer.name.empty() ? "" : "layer " + layer.name + ", ";
  return {ErrorCode::kNotFinite,
          name + "element " + std::to_string(of_layer) + " is NaN or infinite"};
}

std::span<const float> Vectors::Store::parameters() {
  return on_host(parameters_.floats());
}

std::span<const float> Vectors::Store::shard(ShardIndex shard) {
  return on_host(shard_of(parameters_, shard));
}

std::span<const float> Vectors::Store::owned(ShardIndex shard) {
  KIMESH_CHECK(owns(shard), "x[s] is at its owner");
  return owned_.contains(shard) ? on_host(owned_of(shard)) : this->shard(shard);
}

std::span<const float> Vectors::Store::estimate(ChannelIndex channel) {
  const kernels::ConstMemorySpan held =
      reads_payloads() ? brought_by(channel) : kernels::ConstMemorySpan(estimate_of(channel));
  return held.empty() ? std::span<const float>{} : on_host(held);
}

std::span<const float> Vectors::Store::on_host(kernels::ConstMemorySpan floats) {
  if (memory_.on_host()) return memory_.view(floats);
  downloaded_ = AlignedBuffer(floats.size);
  if (const Status copied = memory_.download(floats, downloaded_.span()); !copied)
    throw std::runtime_error(copied.error().message);
  return downloaded_.span();
}

std::size_t Vectors::Store::bytes_held() const {
  std::size_t floats = host_point_.size() + host_gradient_.size() + parameters_.size() +
                       gradient_.size() + velocity_.size() + target_.size() + step_.size() +
                       point_.size() + moved_.size() + sent_.size();
  for (const auto& [channel, estimate] : estimates_) floats += estimate.size();
  for (const auto& [shard, owned] : owned_) floats += owned.size();
  std::size_t bytes = floats * sizeof(float);
  for (const auto& [shard, arrivals] : arrivals_) bytes += arrivals.bytes_held();
  for (const auto& [channel, payload] : brought_) bytes += payload.size();
  for (const auto& [shard, optimizer] : optimizers_) bytes += optimizer.bytes_held();
  if (worker_optimizer_) bytes += worker_optimizer_->bytes_held();
  return bytes;
}

}  // namespace kimesh
