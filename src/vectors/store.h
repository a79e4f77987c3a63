// The float vectors of a node in one memory, and a core's actions carried out on them there.
// Vectors checks actions and names what failed; the store does the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrivals.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/optimizer/optimizer.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// The functions promise what those of Vectors do, with the same threads.
class Vectors::Store {
 public:
  // `plan` outlives this.
  Store(const Plan& plan, NodeIndex self, const VectorsOptions& options);

  [[nodiscard]] const Status& allocated() const { return allocated_; }
  [[nodiscard]] std::span<float> point();
  [[nodiscard]] std::span<float> bound_point();
  [[nodiscard]] std::span<float> gradient();
  void start();
  [[nodiscard]] Status prepare_point(const ComputeGradient& work);
  [[nodiscard]] Status copy_parameters_to_point();
  [[nodiscard]] Status read_parameters(std::span<float> w);
  [[nodiscard]] unsigned local_steps() const { return options_.local_steps.own; }
  [[nodiscard]] Status prepare_gradient(Round round);
  // Errors: NotFinite, with the layer, or Io.
  [[nodiscard]] Result<AdvanceDone> advance(const AdvanceChannel& action);
  // Errors: Malformed or Io.
  [[nodiscard]] Result<std::uint64_t> apply(const ApplyMessage& action);
  // Errors: NotFinite, with the layer; x[s] is untouched then. Io.
  [[nodiscard]] Result<StepDone> step(const StepShard& action);
  [[nodiscard]] Status take_movement(const TakeMovement& action);

  [[nodiscard]] Status save_changing(StateWriter& writer) const;
  [[nodiscard]] Status save_rest(StateWriter& writer) const;
  [[nodiscard]] std::size_t state_bytes() const;
  [[nodiscard]] Status restore(StateReader& reader);

  void end_training();
  void carry(double of_mean, CarriedVectors& to) const;
  void start(const CarriedVectors& from);

  [[nodiscard]] bool has_estimate(ChannelIndex channel) const {
    return estimates_.contains(channel);
  }
  // Whether w[s] is what this end of a gather channel holds.
  [[nodiscard]] bool is_parameters(ChannelIndex channel) const;
  // Copies for observers, on the host, valid until the next call.
  [[nodiscard]] std::span<const float> parameters();
  [[nodiscard]] std::span<const float> shard(ShardIndex shard);
  [[nodiscard]] std::span<const float> owned(ShardIndex shard);
  [[nodiscard]] std::span<const float> estimate(ChannelIndex channel);
  [[nodiscard]] std::size_t bytes_held() const;

  [[nodiscard]] bool shares_gathers() const { return options_.gather == Gather::kShared; }

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] NodeIndex self() const { return self_; }

 private:
  // Empty where the memory has no room for it, and then `allocated_` is an error.
  [[nodiscard]] kernels::MemoryBuffer allocate(std::size_t size);
  void allocate_estimates();
  void allocate_owned();
  void allocate_worker_optimizer();
  // Where the objective computes: w, or a buffer of its own.
  [[nodiscard]] const kernels::MemoryBuffer& point_buffer() const {
    return has_point() ? point_ : parameters_;
  }
  [[nodiscard]] bool has_point() const {
    return options_.looks_ahead || options_.local_steps_vary || takes_local_steps();
  }
  // Whether every movement is that of y over the whole round, scaled.
  [[nodiscard]] bool takes_local_steps() const { return !options_.local_steps.is_one_step(); }
  // The same for a round whose ComputeGradient has these.
  [[nodiscard]] bool sums_steps(unsigned steps, double scale) const {
    return steps > 1 || scale != 1 || takes_local_steps();
  }
  // Makes a buffer of the model's size, where it is not there yet. Errors: Io, where the memory has
  // no room for it.
  [[nodiscard]] Status make(kernels::MemoryBuffer& buffer, kernels::Memory& memory);
  [[nodiscard]] bool owns(ShardIndex shard) const { return plan_.shards[shard].owner == self_; }
  [[nodiscard]] bool sends_movements() const {
    return options_.keeps_estimates && options_.feedback == Feedback::kEf14;
  }

  // The vectors that the next round takes up, in an order that all runs share: those that its
  // gradient changes, those of the worker's movement, and the rest.
  [[nodiscard]] std::vector<kernels::MemorySpan> kept_gradient() const;
  [[nodiscard]] std::vector<kernels::MemorySpan> kept_movement() const;
  [[nodiscard]] std::vector<kernels::MemorySpan> kept_channels() const;
  // Whether movements are made with the gradient, and not by an action.
  [[nodiscard]] bool moves_with_gradient() const {
    return !options_.looks_ahead || options_.local_steps_vary || takes_local_steps();
  }
  [[nodiscard]] Status save_movement(StateWriter& writer) const;
  [[nodiscard]] Status save_vectors(const std::vector<kernels::MemorySpan>& vectors,
                                    StateWriter& writer) const;
  void restore_vectors(const std::vector<kernels::MemorySpan>& vectors, StateReader& reader) const;
  [[nodiscard]] bool keeps_between_rounds(ChannelIndex estimate) const;

  [[nodiscard]] kernels::MemorySpan shard_of(const kernels::MemoryBuffer& whole,
                                             ShardIndex shard) const;
  // x[s] of a shard that this node owns.
  [[nodiscard]] kernels::MemorySpan owned_of(ShardIndex shard) const;
  // Empty when none is kept.
  [[nodiscard]] kernels::MemorySpan estimate_of(ChannelIndex channel) const;
  // Whether what a reduce brings is read where it lies, in the message's payload.
  [[nodiscard]] bool reads_payloads() const {
    return memory_.on_host() && !options_.keeps_estimates;
  }
  // Whether reduces bring what no later message adds to, so that their sum is all that is kept.
  [[nodiscard]] bool sums_arrivals() const {
    return options_.keeps_estimates && options_.feedback != Feedback::kEf21;
  }
  // The sum that a term of a reduce is part of; null for all other terms.
  [[nodiscard]] const Arrivals* arrivals_of(BufferId term) const;
  // Empty where no payload is held.
  [[nodiscard]] kernels::ConstMemorySpan brought_by(ChannelIndex channel) const;
  // Keeps the payload of a reduce for the sum that reads it.
  [[nodiscard]] Status hold(const ApplyMessage& action);
  // Errors: Malformed, where a term was to be brought, and was not.
  [[nodiscard]] Status check_brought(std::span<const BufferId> terms, Round round) const;
  // Gives back what a sum has read.
  void release(std::span<const BufferId> terms);
  // Where an action's estimate lies. Requires a buffer of the action's shard that may change.
  [[nodiscard]] kernels::MemorySpan writable(BufferId buffer, ShardIndex shard) const;
  // The layers' slices of a shard; valid until the next call.
  [[nodiscard]] std::span<const Piece> pieces_of(ShardIndex shard);

  // Whether the sum is one of this node's own buffers.
  [[nodiscard]] static bool is_in_place(std::span<const BufferId> terms);
  // The sum of the terms in `round`, added in order with one rounding each: in place where there is
  // but one buffer to read, else in `target_`.
  [[nodiscard]] kernels::MemorySpan sum(std::span<const BufferId> terms, ShardIndex shard,
                                        Round round);
  // A term of a sum: floats of the shard's size, and the factor to take them with, if any.
  struct Term {
    kernels::ConstMemorySpan floats;
    std::optional<float> factor;
  };
  [[nodiscard]] Term term_of(BufferId term, ShardIndex shard, Round round) const;
  [[nodiscard]] std::vector<Term> terms_of(std::span<const BufferId> terms, ShardIndex shard,
                                           Round round) const;
  // Adds the floats from `begin` on to `out`, or assigns them where it is the first term.
  void add_term(const Term& term, std::size_t begin, kernels::MemorySpan out, bool first);
  // The energy of a term of a sum.
  [[nodiscard]] Result<double> energy_of(BufferId term, ShardIndex shard, Round round) const;
  // Of the terms whose sum is `whole`.
  [[nodiscard]] Result<Agreement> agreement(const StepShard& action,
                                            kernels::ConstMemorySpan whole) const;
  // A vector, and the factor to take it with.
  struct Scaled {
    double factor = 1;
    const kernels::MemoryBuffer& vector;
  };
  [[nodiscard]] static Scaled times(double factor, const Scaled& of) {
    return {factor * of.factor, of.vector};
  }
  // What this node's gradient of `round` asks for: its movement where workers send that.
  [[nodiscard]] Scaled wish(Round round) const;
  // What the last gradient, of `round`, asks for by itself.
  [[nodiscard]] Scaled last_step(Round round) const;
  // ω times that.
  [[nodiscard]] Scaled contribution(Round round) const;
  // Without momentum and moments the movement is the gradient's, whose buffer the next gradient
  // takes while the movement is sent; the velocity's holds it then.
  [[nodiscard]] bool keeps_movement_of_descent() const {
    return options_.looks_ahead && !takes_local_steps() && options_.optimizer.kind->is_descent() &&
           !options_.optimizer.keeps_velocity();
  }
  // Takes momentum and, where workers send movements, the optimizer's step. Nesterov's momentum is
  // not added to a gradient that was taken ahead.
  void make_movement(Round round, kernels::Memory& memory, bool taken_ahead);
  // Makes the point what the objective sees: copies it to the host, where the objective computes
  // there and the memory is a device's. Waits for it.
  [[nodiscard]] Status show_point();
  // Floats that the objective is bound to, where the memory is the host's: a program's, or new.
  [[nodiscard]] kernels::MemoryBuffer bound_floats(std::span<float> given);
  // y = w − kResidualAhead · e − under_way · (the movement that was made last) − next · (its last
  // step, which is all of it without local steps). `sums`: the gradients at y are of several steps.
  void look_ahead(double under_way, double next, bool sums, kernels::Memory& memory);
  // The last local step, of which y goes a share ahead.
  [[nodiscard]] Scaled step_of_point() const;
  // y −= share · (the last local step).
  void move_point_ahead(double share, kernels::Memory& memory);
  // The share of its last step by which a node looks ahead of the next one.
  [[nodiscard]] double share_of_next_step() const;
  // Adds the step that the gradient at y asks for to the movement, and moves y by it.
  void take_local_step(Round round);
  [[nodiscard]] kernels::ConstMemorySpan readable(BufferId term) const;
  // A copy for observers where the memory is a device's, valid until the next call.
  // Throws where the device has failed: what it had must not be taken for a model of zeros.
  [[nodiscard]] std::span<const float> on_host(kernels::ConstMemorySpan floats);
  // Makes the dense message of a sum of which nothing else is kept. Requires memory on the host.
  [[nodiscard]] Result<Advanced> send_sum(const AdvanceChannel& action);
  // Makes one message of an outgoing channel, with the action's feedback.
  [[nodiscard]] Result<Advanced> send(const AdvanceChannel& action, kernels::MemorySpan target,
                                      kernels::MemorySpan estimate);
  // Waits for the memory. Returns 0, the digest of an action that asks for none.
  [[nodiscard]] Result<std::uint64_t> finish();
  // A NotFinite error that names the layer of a shard's element. Without an element, a difference
  // of two finite values was too large for float32.
  [[nodiscard]] Error not_finite(std::optional<std::size_t> element, ShardIndex shard) const;

  const Plan& plan_;
  const NodeIndex self_;
  const VectorsOptions options_;
  kernels::Memory& memory_;           // of actions
  kernels::Memory& gradient_memory_;  // the same memory, for work that may run beside actions
  Status allocated_ = ok_status();

  kernels::MemoryBuffer parameters_, gradient_, velocity_, target_;
  std::unordered_map<ChannelIndex, kernels::MemoryBuffer> estimates_;
  // Where reads_payloads(): what reduces have brought, until a sum has read it.
  std::unordered_map<ChannelIndex, Payload> brought_;
  std::map<ShardIndex, Arrivals> arrivals_;            // where sums_arrivals()
  std::map<ShardIndex, kernels::MemoryBuffer> owned_;  // x[s], where it is kept apart from w[s]
  std::map<ShardIndex, ShardOptimizer> optimizers_;    // of the owned shards
  // Where workers send movements and their optimizer has a state: minus the movement.
  std::optional<ShardOptimizer> worker_optimizer_;
  kernels::MemoryBuffer step_;
  kernels::MemoryBuffer point_;  // y, where nodes look ahead or take local steps
  // `moved_` is the sum of the local steps of a gradient. `sent_` holds the movement of the round
  // before, where it is sent while the next steps are added up in `moved_`. y is ahead of where the
  // steps have come to by the share `point_ahead_` of the last one.
  kernels::MemoryBuffer moved_, sent_;
  bool taken_ahead_ = false;
  bool sums_ = false;      // the gradients of this round are of several steps
  double scale_ = 1;       // LocalSteps::scale() times ComputeGradient::scale of this round
  unsigned made_for_ = 1;  // the local steps of the gradient whose point was made last
  double point_ahead_ = 0;
  // Of the movement that was made last: its round, and whether it is in the velocity.
  Round movement_round_ = 0;
  bool is_in_velocity_ = false;
  bool is_sum_ = false;        // it is a sum of steps, in `moved_` unless
  bool is_sum_apart_ = false;  // it is in `sent_`
  double sum_scale_ = 1;       // the factor of that sum in the movement
  // Where the memory is a device's: the first point and, unless the objective computes there, its
  // two vectors; empty where the program has brought its own.
  AlignedBuffer host_point_, host_gradient_;
  // The parameters changed since the last copy to the host. Not where nodes look ahead, whose
  // gradients may be computed beside actions.
  bool host_is_behind_ = false;
  AlignedBuffer downloaded_;  // what was read last
  CompressScratch scratch_;
  std::vector<Piece> pieces_;
};

}  // namespace kimesh
