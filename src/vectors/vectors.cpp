#include "kimesh/vectors/vectors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"
#include "store.h"

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

Error about(const Error& error, const std::string& what) {
  return {error.code, error.message + " (" + what + ")"};
}

}  // namespace

Status use_gpu(VectorsOptions& options) {
  for (auto* queue : {&options.memory, &options.gradient_memory}) {
    auto opened = kernels::open_cuda();
    if (!opened) return opened.error();
    *queue = std::move(*opened);
  }
  return ok_status();
}

Vectors::Vectors(const Plan& plan, NodeIndex self, const VectorsOptions& options)
    : store_(std::make_unique<Store>(plan, self, options)) {}
Vectors::~Vectors() = default;
Vectors::Vectors(Vectors&&) noexcept = default;

std::span<float> Vectors::point() {
  return store_->point();
}
std::span<float> Vectors::bound_point() {
  return store_->bound_point();
}
std::span<float> Vectors::gradient() {
  return store_->gradient();
}
Status Vectors::allocated() const {
  return store_->allocated();
}
void Vectors::start() {
  store_->start();
}
Status Vectors::prepare_point(const ComputeGradient& work) {
  return store_->prepare_point(work);
}
Status Vectors::read_parameters(std::span<float> w) {
  return store_->read_parameters(w);
}
Status Vectors::prepare_point(const Evaluate&) {
  return store_->copy_parameters_to_point();
}
unsigned Vectors::local_steps() const {
  return store_->local_steps();
}
Status Vectors::prepare_gradient(Round round) {
  return store_->prepare_gradient(round);
}

Result<AdvanceDone> Vectors::advance(const AdvanceChannel& action) {
  if (step_error_) return *step_error_;
  const Plan& plan = store_->plan();
  KIMESH_CHECK(action.estimate.kind == BufferId::Kind::kEstimate ||
                   action.estimate.kind == BufferId::Kind::kParameters,
               "an outgoing channel's estimate, or the parameters that stand for it");
  KIMESH_CHECK(!action.restart || plan.channels[action.channel].phase == Phase::kReduce ||
                   action.setting.budget.is_dense(),
               "a restarted gather assigns");
  KIMESH_CHECK(action.setting.budget.is_dense() ||
                   action.estimate.kind == BufferId::Kind::kParameters ||
                   store_->has_estimate(action.estimate.index),
               "without an estimate every message is dense");
  auto made = store_->advance(action);
  if (!made) return about(made.error(), name_of(plan, action.channel, action.round));
  return made;
}

Result<std::uint64_t> Vectors::apply(const ApplyMessage& action) {
  const Plan& plan = store_->plan();
  const bool zeroes_parameters = action.restart && action.form != Form::kDense &&
                                 plan.channels[action.channel].phase == Phase::kGather;
  auto applied = zeroes_parameters
                     ? Error{ErrorCode::kMalformed, "a restarted gather that is not dense"}
                     : store_->apply(action);
  if (!applied) return about(applied.error(), name_of(plan, action.channel, action.round));
  return applied;
}

StepDone Vectors::step(const StepShard& action) {
  const Plan& plan = store_->plan();
  KIMESH_CHECK(plan.shards[action.shard].owner == store_->self(), "a shard that this node owns");
  auto stepped = store_->step(action);
  if (stepped) return *stepped;
  step_error_ = about(stepped.error(), "the gradient of shard " + std::to_string(action.shard) +
                                           " at its owner, round " + std::to_string(action.round));
  StepDone untouched{action.shard, action.round};
  if (action.digest) untouched.digest = digest_floats(owned(action.shard));
  return untouched;
}

Status Vectors::take_movement(const TakeMovement& action) {
  return store_->take_movement(action);
}

Status Vectors::save_changing(StateWriter& writer) const {
  if (step_error_) return *step_error_;
  return store_->save_changing(writer);
}

Status Vectors::save_rest(StateWriter& writer) const {
  return store_->save_rest(writer);
}

std::size_t Vectors::state_bytes() const {
  return store_->state_bytes();
}

Status Vectors::restore(StateReader& reader) {
  return store_->restore(reader);
}

void Vectors::carry(double of_mean, CarriedVectors& to) const {
  store_->carry(of_mean, to);
}

void Vectors::start(const CarriedVectors& from) {
  store_->start(from);
}

void Vectors::end_training() {
  store_->end_training();
}

std::span<const float> Vectors::shard(ShardIndex shard) const {
  return store_->shard(shard);
}

std::span<const float> Vectors::owned(ShardIndex shard) const {
  return store_->owned(shard);
}

std::vector<float> Vectors::model() const {
  const auto w = store_->parameters();
  std::vector<float> whole(w.begin(), w.end());
  const Plan& plan = store_->plan();
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    if (plan.shards[s].owner != store_->self()) continue;
    const auto part = model(static_cast<ShardIndex>(s));
    std::ranges::copy(part, whole.begin() + static_cast<std::ptrdiff_t>(plan.shards[s].begin));
  }
  return whole;
}

std::span<const float> Vectors::model(ShardIndex shard) const {
  return store_->shares_gathers() ? this->shard(shard) : owned(shard);
}

std::span<const float> Vectors::estimate(ChannelIndex channel) const {
  if (store_->is_parameters(channel)) return shard(store_->plan().channels[channel].shard);
  return store_->estimate(channel);
}

std::size_t Vectors::bytes_held() const {
  return store_->bytes_held();
}

}  // namespace kimesh
