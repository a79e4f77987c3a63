// The events on their way from the network thread to the engine, for which the network thread never
// waits.
#pragma once

#include <compare>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kimesh/link/network.h"

namespace kimesh {

// Keeps the events for which the engine's queue has no room. While any are kept the network reads
// no socket, so that at most the events of one frame and of the loss of each connection wait here.
// Thread: the network's.
class EventGate {
 public:
  explicit EventGate(EventSink events) : events_(std::move(events)) {}

  void push(NetworkEvent event) {
    if (is_shut_) return;
    waiting_.push_back(std::move(event));
    (void)drain();
  }
  // Who can cause an event of push_once.
  enum class Cause {
    kAnybody,
    kClaim,  // anybody who says, without a key that proves it, that it is `node`
    kPeer,   // `node`, by its key or its address, or on a connection whose hello was accepted
  };
  struct Source {
    Cause cause = Cause::kAnybody;
    NodeIndex node = 0;
    auto operator<=>(const Source&) const = default;
  };
  [[nodiscard]] static Source peer(NodeIndex node) { return {Cause::kPeer, node}; }
  // As push, for an event that may come again and again: each sentence of a source comes once, and
  // kSentencesMax of them at most. Sources have a limit each, so that no stranger can keep back why
  // a peer is refused.
  void push_once(PeerRefused refused, Source source) {
    constexpr std::size_t kSentencesMax = 64;  // further ones would differ by a made-up name only
    std::set<std::string>& pushed = pushed_once_[source];
    if (pushed.size() >= kSentencesMax || !pushed.insert(refused.sentence).second) return;
    push(std::move(refused));
  }
  // For an event that may be lost.
  void try_push(NetworkEvent event) {
    if (waiting_.empty() && !is_shut_) (void)events_(event);
  }
  // From now on events go nowhere.
  void shut() noexcept {
    waiting_.clear();
    is_shut_ = true;
  }
  // Gives the events that wait to the engine, as far as it has room. True: none is left.
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
  std::map<Source, std::set<std::string>> pushed_once_;
  bool is_shut_ = false;
};

}  // namespace kimesh
