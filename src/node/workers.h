// The two threads that carry out a core's vector work. Each takes its items in the order in which
// they were issued.
#pragma once

#include <thread>
#include <variant>
#include <vector>

#include "engine_queue.h"
#include "kimesh/objective/objective.h"
#include "kimesh/round/action.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Everything on float vectors but gradients. One thread, so actions on one buffer keep their order.
class VectorWorker {
 public:
  // `vectors` and `engine` outlive this. `capacity`: the most actions that can be under way, so
  // that the engine never waits.
  VectorWorker(Vectors& vectors, EngineQueue& engine, std::size_t capacity);
  ~VectorWorker();  // drops what waits, ends the thread after what it does now

  void advance(const AdvanceChannel& action);
  void apply(const ApplyMessage& action, std::vector<std::byte> payload);
  void step(const StepShard& action);

 private:
  struct Application {
    ApplyMessage action;
    std::vector<std::byte> payload;
  };
  using Work = std::variant<AdvanceChannel, Application, StepShard>;
  void run();
  [[nodiscard]] Incident carry_out(const Work& work);

  Vectors& vectors_;
  EngineQueue& engine_;
  BoundedQueue<Work> queue_;
  std::atomic<bool> dropping_{false};
  std::thread thread_;
};

// Gradients and evaluations. A gradient is folded (clip, decay, momentum) on the same thread.
class TrainerThread {
 public:
  TrainerThread(Objective& objective, Vectors& vectors, EngineQueue& engine, std::string node_name);
  ~TrainerThread();  // waits for a running gradient

  void gradient(Round round);
  void evaluate(Round round);

 private:
  struct Work {
    Round round;
    bool evaluate;
  };
  void run();
  [[nodiscard]] Event carry_out(const Work& work);

  Objective& objective_;
  Vectors& vectors_;
  EngineQueue& engine_;
  std::string name_;
  BoundedQueue<Work> queue_;
  std::atomic<bool> dropping_{false};
  std::thread thread_;
};

}  // namespace kimesh
