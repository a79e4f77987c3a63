// Gives events to a core and its actions to a driver, the same way for both drivers. A driver
// decides only what an action costs and where a message goes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/objective/objective.h"
#include "kimesh/round/core.h"
#include "kimesh/util/result.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Where the states of one node go that its checkpoints are made of. Thread: that of vector work.
class StateStore {
 public:
  StateStore() = default;
  virtual ~StateStore() = default;
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  // Memory for a state, of an earlier one where there is such. Waits until there is room for it,
  // which bounds what waits to be written.
  [[nodiscard]] virtual std::vector<std::byte> memory() = 0;
  // Takes a state. Whoever asks learns later that it is held.
  virtual void keep(StateId id, std::vector<std::byte> state) = 0;
  // The state, to be read in pieces. Errors: those of the files; UserInput, where the checkpoint is
  // not there, or of another lineage.
  [[nodiscard]] virtual Result<std::unique_ptr<StateSource>> load(StateId id) = 0;
  // The run begins anew: what is there is none of its checkpoints any more. Errors: Io.
  [[nodiscard]] virtual Status set_aside() { return ok_status(); }
};

// Checkpoints that are written beside training. Thread: the engine's, but for what StateStore says.
class HeldStates : public StateStore {
 public:
  // The newest checkpoint that would survive the loss of power; nothing: there is none yet.
  // Errors: those of the files, which end the run.
  [[nodiscard]] virtual Result<std::optional<Round>> newest() = 0;
  // All nodes hold the checkpoint of `round`: older ones may go.
  virtual void all_hold(Round round) = 0;
};

// Carries out the actions of a core: with worker threads, sockets and a clock when live; with
// virtual costs, links and time when simulated. The executor calls it on the thread of its caller,
// in the order of the core's actions.
class Driver {
 public:
  virtual ~Driver() = default;

  // Carries the work out by perform(), works of one kind in the order of these calls, and gives the
  // event of its end to the executor.
  virtual void work(VectorWork work) = 0;
  virtual void work(TrainerWork work) = 0;

  virtual void send(SendMessage action) = 0;
  virtual void send(const SendApplied& action) = 0;
  virtual void send(const SendBye& action) = 0;
  virtual void send(const SendHalt& action) = 0;

  virtual void notify(const RoundReport& report) = 0;
  virtual void notify(const Decision& decision) = 0;
  virtual void notify(const Notice& notice) = 0;
  virtual void finish(const Finish& end) = 0;  // nothing follows
};

// Thread: one at a time; the driver's engine thread.
class Executor {
 public:
  // `driver` outlives this.
  Executor(Core core, Driver& driver) : core_(std::move(core)), driver_(driver) {}

  // Begins round 0, as Core::start.
  void start(TimePoint now);
  // Gives an event to the core and carries out what it answers.
  void handle(TimePoint now, Event event);

  [[nodiscard]] const Core& core() const { return core_; }

 private:
  void carry_out(std::vector<Action> actions);

  Core core_;
  Driver& driver_;
};

// Does vector work. Returns the event of its end, in which the time is not set, or WorkFailed.
// Without a `store` states go nowhere. Thread: as Vectors says.
[[nodiscard]] Event perform(VectorWork& work, Vectors& vectors, StateStore* store);
// Does what the event of its end did not wait for, before any other vector work: a state's second
// part, beside the next gradient. Returns WorkFailed or nothing.
[[nodiscard]] std::optional<Event> finish_work(VectorWork& work, const Vectors& vectors,
                                               StateStore* store);
// Computes a gradient, or takes all local steps of a round, or evaluates. Returns the event of its
// end, in which the time is not set, or WorkFailed with a sentence that names `node`. `gives_up` is
// asked between local steps: where it says yes, the rest is left out and the event worth nothing.
[[nodiscard]] Event perform(
    const TrainerWork& work, Vectors& vectors, Objective& objective, const std::string& node,
    const std::function<bool()>& gives_up = [] { return false; });
// Sets the time of the work that `end` reports.
void set_time_taken(Event& end, Duration took);

}  // namespace kimesh
