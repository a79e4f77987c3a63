#include "workers.h"

#include <chrono>

#include "kimesh/util/check.h"

namespace kimesh {

namespace {

constexpr std::size_t kTrainerItemsMax =
    4;  // a core asks for one evaluation and one gradient at a time

// Gives the event to the engine. False: the engine is closed.
bool report(Event end, std::chrono::steady_clock::time_point begun, EngineQueue& engine) {
  set_time_taken(end, std::chrono::steady_clock::now() - begun);
  EngineInput input(std::move(end));
  const std::size_t weight = weight_of(input);
  return engine.push(std::move(input), weight);
}

}  // namespace

VectorWorker::VectorWorker(Vectors& vectors, StateStore* states, EngineQueue& engine,
                           std::size_t capacity)
    : vectors_(vectors), states_(states), engine_(engine), queue_(capacity), thread_([this] {
        run();
      }) {}

VectorWorker::~VectorWorker() {
  dropping_ = true;
  queue_.close();
  thread_.join();
}

void VectorWorker::submit(VectorWork work) {
  KIMESH_CHECK(queue_.try_push(std::move(work)), "room for all actions that can be under way");
}

void VectorWorker::run() {
  while (auto work = queue_.pop()) {
    if (dropping_) continue;
    const auto begun = std::chrono::steady_clock::now();
    Event end = perform(*work, vectors_, states_);
    if (!report(std::move(end), begun, engine_)) return;
    auto failed = finish_work(*work, vectors_, states_);
    if (failed && !report(std::move(*failed), begun, engine_)) return;
  }
}

TrainerThread::TrainerThread(Objective& objective, Vectors& vectors, EngineQueue& engine,
                             std::string node_name)
    : objective_(objective),
      vectors_(vectors),
      engine_(engine),
      name_(std::move(node_name)),
      queue_(kTrainerItemsMax),
      thread_([this] { run(); }) {}

TrainerThread::~TrainerThread() {
  dropping_ = true;
  queue_.close();
  thread_.join();
}

void TrainerThread::submit(TrainerWork work) {
  KIMESH_CHECK(queue_.try_push(std::move(work)), "one gradient and one evaluation at a time");
}

void TrainerThread::run() {
  while (auto work = queue_.pop()) {
    if (dropping_) continue;
    const auto begun = std::chrono::steady_clock::now();
    Event end = perform(*work, vectors_, objective_, name_, [this] { return dropping_.load(); });
    if (dropping_) continue;
    if (!report(std::move(end), begun, engine_)) return;
  }
}

}  // namespace kimesh
