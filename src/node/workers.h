// The two threads that carry out a core's vector work. Each takes its items in the order in which
// they were issued. What is thrown on them is kept, and they do nothing any more.
#pragma once

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "engine_queue.h"
#include "kimesh/executor/executor.h"
#include "kimesh/objective/objective.h"
#include "kimesh/util/thrown.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Carries out vector work on one thread, so that actions on one buffer keep their order.
class VectorWorker {
 public:
  // `vectors`, `states` (may be null), `engine` and `thrown` outlive this. `capacity` is the
  // largest number of actions that can be under way, so that the engine never waits.
  VectorWorker(Vectors& vectors, StateStore* states, EngineQueue& engine, Thrown& thrown,
               std::size_t capacity);
  // Drops what waits, and ends the thread after what it does now. False: that takes longer; the
  // destructor would wait for it.
  [[nodiscard]] bool ends_within(Duration limit);
  ~VectorWorker();

  void submit(VectorWork work);

 private:
  void run();
  void carry_out(VectorWork& work);

  Vectors& vectors_;
  StateStore* const states_;
  EngineQueue& engine_;
  Thrown& thrown_;
  BoundedQueue<VectorWork> queue_;
  std::atomic<bool> dropping_{false};
  std::promise<void> ended_;
  std::future<void> end_{ended_.get_future()};
  std::thread thread_;
};

// Computes gradients and evaluations. Clip, decay and momentum follow a gradient on the same
// thread, and so do local steps.
class TrainerThread {
 public:
  // All but the name outlive this.
  TrainerThread(Objective& objective, Vectors& vectors, EngineQueue& engine, Thrown& thrown,
                std::string node_name);
  // As VectorWorker. A running gradient is waited for, and no further local step.
  [[nodiscard]] bool ends_within(Duration limit);
  ~TrainerThread();

  void submit(TrainerWork work);

 private:
  void run();
  void carry_out(const TrainerWork& work);

  Objective& objective_;
  Vectors& vectors_;
  EngineQueue& engine_;
  Thrown& thrown_;
  std::string name_;
  BoundedQueue<TrainerWork> queue_;
  std::atomic<bool> dropping_{false};
  std::promise<void> ended_;
  std::future<void> end_{ended_.get_future()};
  std::thread thread_;
};

}  // namespace kimesh
