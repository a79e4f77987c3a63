// The float vectors of one node, and the core's actions carried out on them, in one memory: the
// host's or a GPU's. Hence no layer above holds a pointer to a float. Every memory makes the same
// bytes of the same floats. Energies, and with them the decisions of policies, may differ in their
// last digits between memories, and so may a clipped gradient.
//
// Buffers of the model's size:
//   w         the parameters
//   g         the gradient
//   v         the velocity, with momentum. Where nodes look ahead without momentum, the movement
//   y         the point at which gradients are taken, if nodes look ahead or take several local
//             steps. Else that is w
//   moments   the two of AdamW, and the movement that is made of them, where workers send
//             movements. Else owners have the moments of their own shards only
//   moved     the sum of a gradient's local steps, where it has several. They begin at w, or ahead
//             of it
//   sent      a movement that is sent while the next gradient's steps are added up in `moved`
// `sent`, and `moved` where the number of steps varies, are made in the first round that needs
// them.
// Where the memory is a GPU's, and the objective computes on the CPU, a second y and g are on the
// host.
//
// Buffers of a shard's size:
//   target       the sum that a message is made of; one, of the largest shard
//   reduce_in    what the children's messages bring. Under EF21 each channel has an estimate. Under
//                EF14 and kNone the shard has one sum, and messages that came out of turn are held
//                as bytes. A host that keeps no estimates holds the payloads until they are summed
//   x[s]         each owned shard, where the policy compresses and all gradients are taken at one
//                point. Else it lies in w
//   reduce_out   the estimate of the far side (EF21) or the residual (EF14) of each channel, where
//                the policy compresses
//   gather_out   the estimate of the far side of each channel, where the policy compresses and
//                gathers are kPerLink. That of an owner's first channel is w[s], if x[s] is not
//
// Thread: actions one at a time, in order of issue; gradient work may run beside actions that do
// not touch what it does: g, v, the optimizer's movement, and y. Where nodes look ahead it does not
// touch v and the movement, which belong to actions then. Where gradients have several local steps,
// it touches all of these, and `moved`; actions read `sent` meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/compress/compressor.h"
#include "kimesh/events/work.h"
#include "kimesh/optimizer/local_steps.h"
#include "kimesh/optimizer/optimizer.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"
#include "kimesh/vectors/carried_vectors.h"

namespace kimesh {

namespace kernels {
class Memory;
}

struct VectorsOptions {
  OptimizerOptions optimizer;
  double data_weight = 1;  // ω_i
  // false where every message is dense: outgoing channels keep no estimate
  bool keeps_estimates = true;
  Feedback feedback = Feedback::kEf21;  // kEf14: workers send movements
  Gather gather = Gather::kPerLink;
  // Gradients may be taken at y = w − m u − γ e: ahead of w by the share m of the node's last
  // movement u (OptimizerKind::look_ahead) and by the share γ of its residuals e, as of a whole
  // mean. Requires Feedback::kEf14.
  bool looks_ahead = false;
  // Other than one step: requires Feedback::kEf14.
  LocalSteps local_steps{};
  // Rounds may have several times as many (ComputeGradient::local_steps): requires
  // Feedback::kEf14.
  bool local_steps_vary = false;
  // Whether an owner takes gradients of its shard x[s] at w[s], which moves by what it sends to its
  // first child, or at x[s] itself, which requires Gather::kPerLink.
  bool one_point = true;
  // Null: the host's memory. Else a GPU's, and the same memory with a queue of its own for gradient
  // work. Live nodes have queues of their own; those of a simulation, which has one thread, share
  // them. The codec must have CodecTraits::on_devices then.
  std::shared_ptr<kernels::Memory> memory{}, gradient_memory{};
  // Whether the objective computes on that GPU (Objective::computes_on_gpu) and is bound to vectors
  // there.
  bool objective_on_device = false;
  // Where point() and gradient() lie, zeroed and aligned to 64 bytes, of a program that outlives
  // the vectors; empty: the vectors own them.
  std::span<float> point_floats{}, gradient_floats{};
};

// Puts the vectors on this machine's GPU. Errors: UserInput, when there is none that works.
[[nodiscard]] Status use_gpu(VectorsOptions& options);

class Vectors {
 public:
  // `plan` outlives this.
  Vectors(const Plan& plan, NodeIndex self, const VectorsOptions& options);
  ~Vectors();
  Vectors(Vectors&&) noexcept;

  // Where the objective puts its first point, on the host.
  [[nodiscard]] std::span<float> point();
  // The vectors that the objective binds to, at fixed addresses: where it computes, and what it
  // finds there. With VectorsOptions::objective_on_device these are addresses on the GPU, which
  // code of the host must not read; else bound_point() is point().
  [[nodiscard]] std::span<float> bound_point();
  [[nodiscard]] std::span<float> gradient();

  // Whether the device had room for all vectors; else some have no address, and nothing but this
  // may be asked. Errors: Io.
  [[nodiscard]] Status allocated() const;

  // To be called once, after the point is initialised: makes the parameters, and the estimates of
  // all gather children, equal to it.
  void start();

  // Makes bound_point() what the work is to be done at; to be called before it begins. The point of
  // an evaluation is w. Errors: Io, when a device failed or has not enough memory for all vectors;
  // the same below.
  [[nodiscard]] Status prepare_point(const ComputeGradient& work);
  [[nodiscard]] Status prepare_point(const Evaluate& work);
  // H_i, of a round whose ComputeGradient::local_steps is 1: how often the objective computes a
  // gradient after prepare_point, each followed by prepare_gradient.
  [[nodiscard]] unsigned local_steps() const;
  // Clips the gradient of `round` that the objective has filled, and applies coupled decay, then
  // momentum; where workers send movements, the optimizer. Where nodes may look ahead all after the
  // decay is left to take_movement. A node of several local steps does all of it, adds the step to
  // its movement and makes bound_point() where the next one is to be taken.
  [[nodiscard]] Status prepare_gradient(Round round);
  // A restarted gather channel must be sent dense: the far side's estimate are its parameters.
  // Errors: NotFinite, with layer and channel; also when a step before found that. The estimate is
  // untouched then. The caller sets the time that the advance took.
  [[nodiscard]] Result<AdvanceDone> advance(const AdvanceChannel& action);
  // Returns the digest, 0 when not asked for. Errors: Malformed; the estimate is untouched then.
  [[nodiscard]] Result<std::uint64_t> apply(const ApplyMessage& action);
  // A sum with NaN or infinity leaves x[s] alone, and the next advance, at the latest that of this
  // shard's gather, returns the error; so it does a device's. The caller sets the time that the
  // step took.
  [[nodiscard]] StepDone step(const StepShard& action);
  // Requires VectorsOptions::looks_ahead.
  [[nodiscard]] Status take_movement(const TakeMovement& action);

  // What a checkpoint holds of the vectors: all that the next round does not make anew, in two
  // parts. The first is what the next gradient changes, and is to be saved before it is asked for;
  // the second may be saved while it is computed, before any other action. Errors: Io.
  [[nodiscard]] Status save_changing(StateWriter& writer) const;
  [[nodiscard]] Status save_rest(StateWriter& writer) const;
  // The bytes of the floats that both write.
  [[nodiscard]] std::size_t state_bytes() const;
  // Puts the vectors back, in place of start() or after it. Errors: Malformed, where the bytes are
  // not those of a node with these options; the vectors are worth nothing then. Io.
  [[nodiscard]] Status restore(StateReader& reader);

  // Adds this node's part to what a mesh of another topology begins with: its data weight over that
  // of all nodes that were added, this one included, is its share of a mean. On the host only.
  void carry(double of_mean, CarriedVectors& to) const;
  // In place of start(): begins with what a mesh of another topology held. Estimates and residuals
  // are those of a run's start. On the host only.
  void start(const CarriedVectors& from);

  // Frees v, the worker's moments and the movements, so that a copy of the model at the end of a
  // run does not add to the peak. No gradient, movement or checkpoint may be asked for after it.
  void end_training();

  // Copies w_i. To be called while no action is under way. Errors: Io.
  [[nodiscard]] Status read_parameters(std::span<float> w);
  // w_i[s], valid until the next call.
  [[nodiscard]] std::span<const float> shard(ShardIndex shard) const;
  // x[s]. Requires a shard that this node owns.
  [[nodiscard]] std::span<const float> owned(ShardIndex shard) const;
  // What a model file of this node holds: model(s) of the shards that it owns, w_i of the rest. The
  // same at all nodes after a closing round.
  [[nodiscard]] std::vector<float> model() const;
  // x[s], or, where gathers are shared, w_i[s], which all nodes hold then and were evaluated at.
  // Requires a shard that this node owns. Valid until the next call.
  [[nodiscard]] std::span<const float> model(ShardIndex shard) const;
  // The estimate at this end of a channel, which is w_i[s] at the receiver of a gather; empty where
  // none is kept. Valid until the next call.
  [[nodiscard]] std::span<const float> estimate(ChannelIndex channel) const;
  [[nodiscard]] std::size_t bytes_held() const;  // of all float vectors, on host and device

 private:
  class Store;
  std::unique_ptr<Store> store_;
  std::optional<Error> step_error_;
};

}  // namespace kimesh
