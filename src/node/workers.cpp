#include "workers.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "kimesh/util/check.h"

namespace kimesh {

namespace {

constexpr std::size_t kTrainerItemsMax =
    4;  // a core asks for one evaluation and one gradient at a time

// The trainer's nice value is raised by kTrainerNice, the default of the command `nice`; threads
// that a gradient starts inherit it. Where processes share cores, a message that waits for a
// gradient makes other nodes wait, and its link seems slow.
constexpr int kTrainerNice = 10, kNiceMax = 19;

void yield_to_other_threads() {
  const auto self = static_cast<id_t>(::gettid());
  const int nice = std::min(::getpriority(PRIO_PROCESS, self) + kTrainerNice, kNiceMax);
  ::setpriority(PRIO_PROCESS, self, nice);  // every user may raise it
}

// Gives the event to the engine. False: the engine is closed.
bool report(Event end, std::chrono::steady_clock::time_point begun, EngineQueue& engine) {
  set_time_taken(end, std::chrono::steady_clock::now() - begun);
  EngineInput input(std::move(end));
  const std::size_t weight = weight_of(input);
  return engine.push(std::move(input), weight);
}

}  // namespace

VectorWorker::VectorWorker(Vectors& vectors, StateStore* states, EngineQueue& engine,
                           Thrown& thrown, std::size_t capacity)
    : vectors_(vectors),
      states_(states),
      engine_(engine),
      thrown_(thrown),
      queue_(capacity),
      thread_([this] { run(); }) {}

bool VectorWorker::ends_within(Duration limit) {
  dropping_ = true;
  queue_.close();
  return end_.wait_for(limit) == std::future_status::ready;
}

VectorWorker::~VectorWorker() {
  dropping_ = true;
  queue_.close();
  thread_.join();
}

void VectorWorker::submit(VectorWork work) {
  KIMESH_CHECK(queue_.try_push(std::move(work)), "room for all actions that can be under way");
}

void VectorWorker::run() {
  bool sound = true;
  while (auto work = queue_.pop())
    if (sound && !dropping_) sound = thrown_.guard(doing(*work), [&] { carry_out(*work); });
  ended_.set_value();
}

// Where the engine is closed nobody hears of the end.
void VectorWorker::carry_out(VectorWork& work) {
  const auto begun = std::chrono::steady_clock::now();
  Event end = perform(work, vectors_, states_);
  if (!report(std::move(end), begun, engine_)) return;
  auto failed = finish_work(work, vectors_, states_);
  if (failed) static_cast<void>(report(std::move(*failed), begun, engine_));
}

TrainerThread::TrainerThread(Objective& objective, Vectors& vectors, EngineQueue& engine,
                             Thrown& thrown, std::string node_name)
    : objective_(objective),
      vectors_(vectors),
      engine_(engine),
      thrown_(thrown),
      name_(std::move(node_name)),
      queue_(kTrainerItemsMax),
      thread_([this] { run(); }) {}

bool TrainerThread::ends_within(Duration limit) {
  dropping_ = true;
  queue_.close();
  return end_.wait_for(limit) == std::future_status::ready;
}

TrainerThread::~TrainerThread() {
  dropping_ = true;
  queue_.close();
  thread_.join();
}

void TrainerThread::submit(TrainerWork work) {
  KIMESH_CHECK(queue_.try_push(std::move(work)), "one gradient and one evaluation at a time");
}

void TrainerThread::run() {
  yield_to_other_threads();
  bool sound = true;
  while (auto work = queue_.pop())
    if (sound && !dropping_) sound = thrown_.guard(doing(*work), [&] { carry_out(*work); });
  ended_.set_value();
}

void TrainerThread::carry_out(const TrainerWork& work) {
  const auto begun = std::chrono::steady_clock::now();
  Event end = perform(work, vectors_, objective_, name_, [this] { return dropping_.load(); });
  if (!dropping_) static_cast<void>(report(std::move(end), begun, engine_));
}

}  // namespace kimesh
