// The core of a node: a pure state machine, events in, actions out. It decides what a round does
// and never blocks, sleeps, reads a clock, opens a socket or touches a float of the model. Both
// drivers run this same code.
//
// Inside a round there is no barrier: each (shard, phase) goes on as soon as what it needs is
// there.
//
//   gradient done ─────► per shard, when all its reduce children are applied:
//                          elsewhere     advance to the parent
//                          at the owner  step
//   step done    ──┐
//   gather applied ┴───► advance to each gather child
//   all shards current ► next round
//
// A channel sends again only after the far core has applied its last message.
//
// Checkpoints: a verdict names a round R that ends with one. Its messages drain as those of a
// closing round: no gradient is computed beside them, and the node waits until each of its messages
// is applied at the far side. Then all of its messages of rounds up to R are applied at both ends,
// and none of a later one is, which makes a state that can be gone on from. A node that resumes
// begins with an agreement, a round of control values alone, as a confirmation round is: the least
// of the newest checkpoints that nodes hold is one that all of them hold.
//
// Ends: rounds, targets of the test set (accuracy, loss), time and traffic all go through a closing
// round R, whose gather is dense at every hop unless gathers are shared, and a confirmation round
// R + 1, in which every node evaluates the now equal models. Its verdict says stop, or goes on when
// the target was not confirmed. Then each node says bye and waits for its peers' byes. Failures and
// Ctrl-C halt at once (docs/architecture.md, "The end of a run").
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/policy/policy_options.h"
#include "kimesh/round/action.h"
#include "kimesh/round/event.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The logged decisions of a run. A driver that replays a run gives them to the core, which then
// asks neither the policy nor the time.
class DecisionSource {
 public:
  virtual ~DecisionSource() = default;
  [[nodiscard]] virtual std::optional<Setting> setting(ChannelIndex channel, Round round) const = 0;
  [[nodiscard]] virtual bool reset(ChannelIndex channel, Round round) const = 0;
  // The verdict of `round` that called a closing round; nothing: none was called in `round`.
  [[nodiscard]] virtual std::optional<Verdict> closing(Round round) const = 0;
  [[nodiscard]] virtual std::optional<Verdict> confirmed_stop(Round round) const = 0;
  // What the verdict of `round` changed the pace to, without its exchange; nothing: it changed
  // nothing.
  [[nodiscard]] virtual std::optional<Pace> pace(Round round) const = 0;
  // What `node` began to offer in `round` (ControlVector::multiple); nothing: it changed nothing.
  [[nodiscard]] virtual std::optional<unsigned> multiple(NodeIndex node, Round round) const = 0;
  // Whether the verdict of `round` said that the next round ends with a checkpoint.
  [[nodiscard]] virtual bool checkpoint(Round round) const = 0;
};

// What writing a state or a model may take: tens of GB, on a disk of 100 MB/s.
inline constexpr Duration kTimeToSave = std::chrono::minutes(10);
// What else a node does between the word to stop and its end: it tells its peers, waits for them,
// and leaves a gradient that does not end, each for seconds.
inline constexpr Duration kTimeToLeave = std::chrono::minutes(1);
// So a stop takes no longer than this. Who stops a node kills it no sooner: `kimesh up`, and what
// containers are told.
inline constexpr Duration kTimeToStop = kTimeToSave + kTimeToLeave;

// When checkpoints are made, and whether the node goes on from one.
struct CheckpointOptions {
  std::optional<Round> every_rounds;  // a checkpoint ends every so many rounds
  std::optional<Duration> every;      // or comes after this time, by the clock of shard 0's owner
  // The node begins with asking all others which checkpoint they hold, and goes on from the newest
  // that all do. All nodes of a mesh do so or none.
  bool resumes = false;
  std::optional<Round> newest;       // the newest checkpoint that this node holds, where it resumes
  std::uint64_t newest_lineage = 0;  // that of it (round/control.h)
  // What this run, or its going on, is numbered where this node owns shard 0: drawn by the driver,
  // from kLineageMin on. 0: nobody is to tell it from others.
  std::uint64_t lineage = 0;
  // This node has trained in the run and never held a checkpoint, so that it has lost none: the
  // first one was not written everywhere. Where that is so at all nodes without one, the run begins
  // anew.
  bool never_held = false;
  // The last run came to its regular end at this node, and therefore at all nodes. Checkpoints of
  // it that other nodes still hold are not used.
  bool has_ended = false;
};

struct CoreOptions {
  PolicySetup policy;
  double data_weight = 1;                    // ω_i: weights the loss in the control vector
  std::optional<double> uplink_bytes_per_s;  // NodeSpec::sending_cap_bits_per_s, in bytes
  std::optional<Round> stop_rounds;
  // Targets of the test set: reached twice in a row, then confirmed on equal models.
  std::optional<double> stop_accuracy;  // this or more
  std::optional<double> stop_loss;      // this or less
  std::optional<Duration> stop_time;    // of the run's clock
  Round evaluate_every = 0;             // 0: only in confirmation rounds
  bool has_test_set = true;             // false: nobody is asked to evaluate
  Round digest_every = 50;              // 0: never
  bool digest_shards = false;           // StepShard asks for a digest each round
  Feedback feedback = Feedback::kEf21;  // of the reduce
  Gather gather = Gather::kPerLink;
  bool one_point = true;  // VectorsOptions::one_point
  // Where gradients are taken, and whether beside messages. VectorsOptions::looks_ahead says so as
  // well; without it neither can be.
  Use look_ahead = Use::kNever, overlap = Use::kNever;
  // Whether the mesh chooses how many local steps a round has. VectorsOptions::local_steps_vary
  // says so as well.
  bool local_steps_vary = false;
  // With it: whether nodes that compute faster than others take more of them.
  bool chooses_multiples = false;
  double drift = kUsualDrift, overlap_cost = kOverlapCost;  // OptimizerKind's
  std::optional<std::uint64_t> traffic_bytes;  // that the node may send in all; the run ends before
  Duration dead_after{std::chrono::seconds(15)};
  // The most that the first gradient and the first evaluation may take, of which nothing is known.
  Duration first_gradient{std::chrono::minutes(30)};
  CheckpointOptions checkpoints;
  // Bytes that the wire adds to a payload, besides optional_bytes(), and to each chunk. The driver
  // sets them.
  std::size_t message_overhead_bytes = 0;
  std::size_t chunk_overhead_bytes = 0;
};

// What a core waits for, as it was at the last tick.
struct CoreWait {
  std::string what;    // for people: "link b->a, shard 2, reduce (round 17)"
  Duration waited{0};  // so far
  Duration usual{0};   // the longest of the last rounds' waits
  // How long it may take, as gradients, evaluations and waits of the mesh have told: where it takes
  // longer, a core ends the run, unless its process hangs.
  Duration limit{0};
  // Waits of one run differ less, where nothing is wrong.
  [[nodiscard]] bool is_unusual() const { return waited > 2 * usual; }
};

// Thread: one at a time; the driver's engine thread.
class Core {
 public:
  // `plan`, `replay` (may be null) outlive the core.
  Core(const Plan& plan, NodeIndex self, CoreOptions options,
       const DecisionSource* replay = nullptr);
  ~Core();
  Core(Core&&) noexcept;

  // Begins round 0, or, where the node resumes, the agreement on a checkpoint. The driver calls
  // it once, when every link of this node is up.
  void start(TimePoint now, std::vector<Action>& actions);
  // Handles an event and appends the actions that follow. `now` never decreases. After Finish every
  // event is ignored.
  void handle(TimePoint now, Event event, std::vector<Action>& actions);
  // Does what the actions of start() or handle() did not have to wait for. The driver calls it
  // after it has carried them out, before the next event.
  void catch_up();

  [[nodiscard]] bool finished() const;
  [[nodiscard]] Round round() const;
  // Of the run, as the mesh has agreed; 0 before the first round's end.
  [[nodiscard]] std::uint64_t lineage() const;
  [[nodiscard]] std::string waiting_for() const;  // now, as CoreWait::what
  [[nodiscard]] CoreWait wait() const;
  [[nodiscard]] LinkEstimate estimate(LinkIndex link) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Bytes of the largest payload of `channel`, which is a dense one. Receivers allow no more.
[[nodiscard]] std::size_t payload_bytes_max(const Plan& plan, ChannelIndex channel);

// Bytes that a node may still send after it has asked for the end of the run: the most that a
// regular end takes. The traffic limit keeps them free.
[[nodiscard]] std::uint64_t traffic_reserve_bytes(const Plan& plan, NodeIndex self,
                                                  const CoreOptions& options);

}  // namespace kimesh
