// The way from the network thread to the engine, which the network thread never waits at.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <utility>

#include "kimesh/link/network.h"

namespace kimesh {

// Keeps what finds no room in the queue. While it is not open the network reads no socket, so what
// waits here is what one frame, and the loss of each connection, can cause. Thread: the network's.
class EventGate {
 public:
  explicit EventGate(EventSink events) : events_(std::move(events)) {}

  void push(NetworkEvent event) {
    waiting_.push_back(std::move(event));
    (void)drain();
  }
  // As push, where a stranger can cause it at will: each sentence once, and so many of them at
  // most.
  void push_once(PeerRefused refused) {
    constexpr std::size_t kSentencesMax = 64;  // more differ only by what a stranger makes up
    if (pushed_once_.size() >= kSentencesMax || !pushed_once_.insert(refused.sentence).second)
      return;
    push(std::move(refused));
  }
  // Where it does not matter if it is told at all.
  void try_push(NetworkEvent event) {
    if (waiting_.empty()) (void)events_(event);
  }
  // Delivers what waits as far as there is room; true: all of it.
  [[nodiscard]] bool drain() {
    while (!waiting_.empty()) {
      if (!events_(waiting_.front())) return false;
      waiting_.pop_front();
    }
    return true;
  }

 private:
  EventSink events_;
  std::deque<NetworkEvent> waiting_;
  std::set<std::string> pushed_once_;
};

}  // namespace kimesh
