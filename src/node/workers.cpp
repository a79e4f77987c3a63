#include "workers.h"

#include <chrono>

#include "kimesh/util/check.h"

namespace kimesh {

namespace {

constexpr std::size_t kTrainerItemsMax =
    4;  // a core asks for one evaluation and one gradient at a time

Duration since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::steady_clock::now() - begun;
}

}  // namespace

VectorWorker::VectorWorker(Vectors& vectors, EngineQueue& engine, std::size_t capacity)
    : vectors_(vectors), engine_(engine), queue_(capacity), thread_([this] { run(); }) {}

VectorWorker::~VectorWorker() {
  dropping_ = true;
  queue_.close();
  thread_.join();
}

void VectorWorker::advance(const AdvanceChannel& action) {
  KIMESH_CHECK(queue_.try_push(action), "room for all actions that can be under way");
}
void VectorWorker::apply(const ApplyMessage& action, std::vector<std::byte> payload) {
  KIMESH_CHECK(queue_.try_push(Application{action, std::move(payload)}),
               "room for all actions that can be under way");
}
void VectorWorker::step(const StepShard& action) {
  KIMESH_CHECK(queue_.try_push(action), "room for all actions that can be under way");
}

void VectorWorker::run() {
  while (auto work = queue_.pop()) {
    if (dropping_) continue;
    Incident ended = carry_out(*work);
    const std::size_t weight = weight_of(ended);
    if (!engine_.push(std::move(ended), weight)) return;
  }
}

Incident VectorWorker::carry_out(const Work& work) {
  const auto begun = std::chrono::steady_clock::now();
  if (const auto* a = std::get_if<AdvanceChannel>(&work)) {
    auto result = vectors_.advance(*a);
    if (!result) return Event{WorkFailed{result.error().message}};
    const auto bytes = static_cast<std::uint32_t>(result->bytes.size());
    const AdvanceDone done{a->channel,
                           a->round,
                           kNoPayload,
                           bytes,
                           result->form,
                           result->wanted_energy,
                           result->missing_energy,
                           result->digest,
                           since(begun),
                           std::move(result->curve),
                           result->kept};
    return AdvanceEnded{done, std::move(result->bytes)};
  }
  if (const auto* a = std::get_if<Application>(&work)) {
    const auto digest = vectors_.apply(a->action, a->payload);
    if (!digest) return Event{WorkFailed{digest.error().message}};
    return Event{ApplyDone{a->action.channel, a->action.round, *digest, since(begun)}};
  }
  const auto& step = std::get<StepShard>(work);
  const std::uint64_t digest = vectors_.step(step);
  return Event{StepDone{step.shard, step.round, digest, since(begun)}};
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

void TrainerThread::gradient(Round round) {
  KIMESH_CHECK(queue_.try_push(Work{round, false}), "one gradient at a time");
}
void TrainerThread::evaluate(Round round) {
  KIMESH_CHECK(queue_.try_push(Work{round, true}), "one evaluation at a time");
}

void TrainerThread::run() {
  while (auto work = queue_.pop()) {
    if (dropping_) continue;
    Incident ended = carry_out(*work);
    const std::size_t weight = weight_of(ended);
    if (!engine_.push(std::move(ended), weight)) return;
  }
}

Event TrainerThread::carry_out(const Work& work) {
  const auto begun = std::chrono::steady_clock::now();
  const auto failed = [&](const Error& error) {
    return WorkFailed{"node " + name_ + ", round " + std::to_string(work.round) + ": " +
                      error.message};
  };
  if (const Status synced = vectors_.sync_parameters_to_host(); !synced)
    return failed(synced.error());
  if (work.evaluate) {
    const EvaluationNumbers numbers = objective_.evaluate();
    return Evaluated{work.round, static_cast<double>(numbers.correct),
                     static_cast<double>(numbers.samples), numbers.loss_sum, since(begun)};
  }
  const auto numbers = objective_.gradient(work.round);
  if (!numbers) return failed(numbers.error());
  if (const Status prepared = vectors_.prepare_gradient(); !prepared)
    return failed(prepared.error());
  return GradientDone{work.round, numbers->loss, since(begun)};
}

}  // namespace kimesh
