#include "loop_exchange.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The most that is kept for a loop that does not take it; the oldest goes first.
constexpr std::size_t kEventsMax = 1024;

}  // namespace

template <typename Answer>
Result<Answer> LoopNode::Exchange::take(Slot<Answer>& slot) {
  slot.wanted = false;
  if (interrupted_) return Error{ErrorCode::kUserInput, "the run is over"};
  if (failed_) return *failed_;
  return *std::exchange(slot.answer, std::nullopt);
}

template <typename Answer>
Result<Answer> LoopNode::Exchange::ask(Slot<Answer>& slot) {
  std::unique_lock lock(mutex_);
  slot.wanted = true;
  slot.answer.reset();
  changed_.notify_all();
  changed_.wait(lock, [&] { return interrupted_ || failed_ || slot.answer; });
  return take(slot);
}

template <typename Answer>
void LoopNode::Exchange::answer(Slot<Answer>& slot, Answer value) {
  const std::unique_lock lock(mutex_);
  if (interrupted_ || failed_) return;
  KIMESH_CHECK(slot.wanted, "an answer to what is wanted");
  slot.wanted = false;
  slot.answer = std::move(value);
  changed_.notify_all();
}

Result<LoopNode::GivenGradient> LoopNode::Exchange::ask_gradient(std::uint64_t batch,
                                                                 const ParametersReader& read) {
  std::unique_lock lock(mutex_);
  batch_ = batch;
  gradient_.wanted = true;
  gradient_.answer.reset();
  changed_.notify_all();
  for (;;) {
    changed_.wait(lock, [&] { return interrupted_ || failed_ || gradient_.answer || reading_; });
    if (!reading_) break;
    const std::span<float> w = *reading_;
    lock.unlock();
    Status done = read(w);
    lock.lock();
    read_ = std::move(done);
    reading_.reset();
    changed_.notify_all();
  }
  return take(gradient_);
}

void LoopNode::Exchange::begin_round(Round round) {
  const std::unique_lock lock(mutex_);
  round_ = round;
  if (!first_round_) first_round_ = round;
}

Result<EvaluationNumbers> LoopNode::Exchange::ask_evaluation() {
  return ask(evaluation_);
}

Result<std::vector<std::byte>> LoopNode::Exchange::ask_state() {
  return ask(state_);
}

Status LoopNode::Exchange::ready() const {
  const std::unique_lock lock(mutex_);
  return failed_ ? *failed_ : ok_status();
}

void LoopNode::Exchange::restore(std::vector<std::byte> state) {
  const std::unique_lock lock(mutex_);
  restored_ = std::move(state);
  changed_.notify_all();
}

void LoopNode::Exchange::tell(LoopEvent event) {
  const std::unique_lock lock(mutex_);
  if (const auto* round = std::get_if<RoundRecord>(&event)) ended_round_ = round->round;
  if (events_.size() == kEventsMax) events_.pop_front();
  events_.push_back(std::move(event));
  changed_.notify_all();
}

void LoopNode::Exchange::interrupt() {
  const std::unique_lock lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void LoopNode::Exchange::end() {
  const std::unique_lock lock(mutex_);
  interrupted_ = ended_ = true;
  changed_.notify_all();
}

LoopWish LoopNode::Exchange::wish() const {
  if (ended_) return LoopWish::kEnd;
  if (interrupted_) return LoopWish::kNothing;
  if (restored_) return LoopWish::kRestore;
  if (state_.wanted) return LoopWish::kState;
  if (evaluation_.wanted) return LoopWish::kEvaluation;
  if (gradient_.wanted) return LoopWish::kGradient;
  return LoopWish::kNothing;
}

LoopWish LoopNode::Exchange::wait(Duration limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return !events_.empty() || wish() != LoopWish::kNothing; });
  return wish();
}

Round LoopNode::Exchange::round() const {
  const std::unique_lock lock(mutex_);
  return round_;
}

std::uint64_t LoopNode::Exchange::batch() const {
  const std::unique_lock lock(mutex_);
  return batch_;
}

void LoopNode::Exchange::give(const GivenGradient& gradient) {
  answer(gradient_, gradient);
}

void LoopNode::Exchange::give(Error error) {
  const std::unique_lock lock(mutex_);
  if (!failed_) failed_ = std::move(error);
  changed_.notify_all();
}

void LoopNode::Exchange::give(EvaluationNumbers numbers) {
  answer(evaluation_, numbers);
}

void LoopNode::Exchange::give_state(std::vector<std::byte> state) {
  answer(state_, std::move(state));
}

std::vector<std::byte> LoopNode::Exchange::take_restored() {
  const std::unique_lock lock(mutex_);
  KIMESH_CHECK(restored_.has_value(), "a state that was restored");
  return *std::exchange(restored_, std::nullopt);
}

std::vector<LoopEvent> LoopNode::Exchange::take_events() {
  const std::unique_lock lock(mutex_);
  std::vector<LoopEvent> events(std::make_move_iterator(events_.begin()),
                                std::make_move_iterator(events_.end()));
  events_.clear();
  return events;
}

Result<bool> LoopNode::Exchange::read(std::span<float> w, Duration limit) {
  std::unique_lock lock(mutex_);
  const Round round = round_;
  const auto settled = [&] {
    return first_round_ && (*first_round_ == round || (ended_round_ && *ended_round_ + 1 == round));
  };
  const bool there = changed_.wait_for(
      lock, limit, [&] { return interrupted_ || (gradient_.wanted && settled()); });
  if (!there || interrupted_) return false;
  reading_ = w;
  changed_.notify_all();
  changed_.wait(lock, [&] { return interrupted_ || !reading_; });
  if (reading_) {  // the node's thread goes, and has not begun to read
    changed_.wait(lock, [&] { return !reading_ || ended_; });
    if (reading_) return reading_.reset(), false;
  }
  if (!read_) return read_.error();
  return true;
}

}  // namespace kimesh
