// What both drivers do with a core: events in, its actions carried out. The drivers differ in what
// an action costs and where a message goes, and in nothing else: that is the Driver interface.
#pragma once

#include <string>
#include <vector>

#include "kimesh/objective/objective.h"
#include "kimesh/round/core.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Live: worker threads, sockets, a clock. Simulated: virtual costs, simulated links, virtual time.
// Called by the executor, on the thread of its caller, in the order of the core's actions.
class Driver {
 public:
  virtual ~Driver() = default;

  // Carries it out by perform(), works of one kind in the order of these calls, and gives its end
  // to the executor as an event.
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

// Vector work on `vectors`. The event is its end, without the time that it took; WorkFailed where
// it cannot be done. Thread: as Vectors says.
[[nodiscard]] Event perform(const VectorWork& work, Vectors& vectors);
// A gradient or an evaluation; `node` is named where it fails.
[[nodiscard]] Event perform(const TrainerWork& work, Vectors& vectors, Objective& objective,
                            const std::string& node);
// Sets the time that the work took which `end` ends.
void set_time_taken(Event& end, Duration took);

}  // namespace kimesh
