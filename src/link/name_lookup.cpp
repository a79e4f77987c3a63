#include "name_lookup.h"

#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace kimesh {

struct NameLookup::State {
  std::mutex mutex;
  Resolver resolve;
  const WakeEvent* answered;  // null: nobody waits any more
  bool is_under_way = false;
  std::optional<std::vector<std::string>> answer;

  void finish(std::vector<std::string> addresses) {
    const std::lock_guard lock(mutex);
    is_under_way = false;
    answer = std::move(addresses);
    if (answered != nullptr) answered->signal();
  }
};

NameLookup::NameLookup(std::string name, const Shared& shared)
    : name_(std::move(name)), state_(std::make_shared<State>()) {
  state_->resolve = shared.resolve;
  state_->answered = &shared.answered;
}

NameLookup::~NameLookup() {
  const std::lock_guard lock(state_->mutex);
  state_->answered = nullptr;
}

void NameLookup::ask() {
  {
    const std::lock_guard lock(state_->mutex);
    if (std::exchange(state_->is_under_way, true)) return;
    state_->answer.reset();
  }
  try {
    std::thread([state = state_, name = name_] {
      std::vector<std::string> addresses;
      try {
        addresses = state->resolve(name);
      } catch (const std::exception&) {  // of memory: as if nothing were known
      }
      state->finish(std::move(addresses));
    }).detach();
  } catch (const std::exception&) {  // no thread can be made now: the same
    state_->finish({});
  }
}

std::optional<std::vector<std::string>> NameLookup::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->answer, std::nullopt);
}

}  // namespace kimesh
