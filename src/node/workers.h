// The two threads that carry out a core's vector work. Each takes its items in the order in which
// they were issued.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "engine_queue.h"
#include "kimesh/executor/executor.h"
#include "kimesh/objective/objective.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Carries out vector work on one thread, so that actions on one buffer keep their order.
class VectorWorker {
 public:
  // `vectors`, `states` (may be null) and `engine` outlive this. `capacity` is the largest number
  // of actions that can be under way, so that the engine never waits.
  VectorWorker(Vectors& vectors, StateStore* states, EngineQueue& engine, std::size_t capacity);
  ~VectorWorker();  // drops what waits, ends the thread after what it does now

  void submit(VectorWork work);

 private:
  void run();

  Vectors& vectors_;
  StateStore* const states_;
  EngineQueue& engine_;
  BoundedQueue<VectorWork> queue_;
  std::atomic<bool> dropping_{false};
  std::thread thread_;
};

// Computes gradients and evaluations. Clip, decay and momentum follow a gradient on the same
// thread, and so do local steps.
class TrainerThread {
 public:
  TrainerThread(Objective& objective, Vectors& vectors, EngineQueue& engine, std::string node_name);
  ~TrainerThread();  // waits for a running gradient, but for no further local step

  void submit(TrainerWork work);

 private:
  void run();

  Objective& objective_;
  Vectors& vectors_;
  EngineQueue& engine_;
  std::string name_;
  BoundedQueue<TrainerWork> queue_;
  std::atomic<bool> dropping_{false};
  std::thread thread_;
};

}  // namespace kimesh
