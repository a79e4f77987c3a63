// The point at which a node takes its gradient: the parameters, or ahead of them.
#include <cstddef>
#include <vector>

#include "kimesh/kernels/blocks.h"
#include "kimesh/util/check.h"
#include "store.h"

namespace kimesh {

// What is left out comes later, so that the point goes part of the way to it. On like data a
// quarter saves a tenth of the steps, on unlike data it changes nothing (docs/experiments.md).
constexpr double kResidualAhead = 0.25;

Status Vectors::Store::copy_parameters_to_point() {
  if (!allocated_) return allocated_;
  if (has_point()) {
    gradient_memory_.copy(parameters_.floats(), point_.floats());
    return show_point();
  }
  if (memory_.on_host() || options_.objective_on_device || !host_is_behind_) return ok_status();
  Status done = gradient_memory_.download(parameters_.floats(), point());
  if (done) host_is_behind_ = false;  // nothing changes them while they are read
  return done;
}

Status Vectors::Store::prepare_point(const ComputeGradient& work) {
  if (!allocated_) return allocated_;
  KIMESH_CHECK((work.local_steps == 1 && work.scale == 1) || options_.local_steps_vary,
               "a number of steps that varies");
  KIMESH_CHECK(work.at != GradientPoint::kMade || work.local_steps == made_for_,
               "the number of steps that the point was made for");
  taken_ahead_ = work.at != GradientPoint::kParameters;
  sums_ = sums_steps(work.local_steps, work.scale);
  scale_ = options_.local_steps.scale() * work.scale;
  if (sums_) {
    if (Status made = make(moved_, gradient_memory_); !made) return made;
    gradient_memory_.fill(moved_.floats(), 0);
  }
  if (!taken_ahead_) {
    point_ahead_ = 0;
    return copy_parameters_to_point();
  }
  KIMESH_CHECK(options_.looks_ahead, "a node that may look ahead");
  if (work.at == GradientPoint::kAhead)
    look_ahead(0, share_of_next_step(), sums_, gradient_memory_);
  return show_point();
}

Status Vectors::Store::show_point() {
  const bool is_there = gradient_memory_.on_host() || options_.objective_on_device;
  return is_there ? gradient_memory_.finish() : gradient_memory_.download(point_.floats(), point());
}

void Vectors::Store::look_ahead(double under_way, double next, bool sums, kernels::Memory& memory) {
  // A sum holds more than the last step, and the first of several steps takes the last one back.
  const bool apart = sums || is_sum_;
  const double share = apart ? under_way : under_way + next;
  std::vector<Scaled> terms;
  if (share != 0) terms.push_back(times(-share, wish(movement_round_)));
  if (apart) point_ahead_ = next;
  if (apart && next != 0) terms.push_back(times(-next, step_of_point()));
  const auto move = [&](std::size_t begin, std::size_t size) {
    const kernels::MemorySpan point = point_.floats().subspan(begin, size);
    memory.copy(parameters_.floats().subspan(begin, size), point);
    for (const auto& [factor, vector] : terms)
      memory.add_scaled(static_cast<float>(factor), vector.floats().subspan(begin, size), point);
  };
  if (!memory.on_host()) move(0, point_.size());
  for (std::size_t s = 0; s < plan_.shards.size(); ++s) {
    const auto& out = plan_.node_channels[s][self_].reduce_out;
    // The buffer holds −e, of a mean over all nodes of which those behind the channel are a part.
    kernels::ConstMemorySpan residual;
    float factor = 0;
    if (out) {
      residual = estimate_of(*out);
      const double part = static_cast<double>(plan_.channels[*out].nodes) /
                          static_cast<double>(plan_.view.nodes.size());
      factor = static_cast<float>(kResidualAhead / part);
    }
    kernels::for_each_block(memory, plan_.shards[s].size, [&](std::size_t begin, std::size_t size) {
      const std::size_t in_model = plan_.shards[s].begin + begin;
      if (memory.on_host()) move(in_model, size);
      if (out)
        memory.add_scaled(factor, residual.subspan(begin, size),
                          point_.floats().subspan(in_model, size));
    });
  }
}

double Vectors::Store::share_of_next_step() const {
  const bool keeps_step = worker_optimizer_ || !velocity_.empty();
  return keeps_step || !takes_local_steps() ? options_.optimizer.kind->look_ahead() : 0;
}

// The velocity is what a gradient that was taken ahead asks for.
Vectors::Store::Scaled Vectors::Store::step_of_point() const {
  if (worker_optimizer_) return {-1, step_};
  return {options_.optimizer.learning_rate(movement_round_), velocity_};
}

void Vectors::Store::move_point_ahead(double share, kernels::Memory& memory) {
  point_ahead_ = share;
  if (share == 0) return;
  const auto [factor, step] = times(-share, step_of_point());
  memory.add_scaled(static_cast<float>(factor), step.floats(), point_.floats());
}

}  // namespace kimesh
