// Two live networks, a -> b, each in a namespace of its own, over a cable that the kernel shapes.
#pragma once

#include <memory>
#include <optional>

#include "kimesh/link/network.h"
#include "tests/netns/netns.h"

namespace kimesh::test {

class ShapedPair {
 public:
  // `bucket` shapes both directions. `declared`: what a is told about the link, true or not.
  // Errors: Network, where this machine makes no namespaces or the two do not meet.
  [[nodiscard]] static Result<std::unique_ptr<ShapedPair>> make(const Bucket& bucket,
                                                                const LinkSpec& declared = {},
                                                                bool is_encrypted = false);
  ~ShapedPair();

  void send(std::size_t bytes);
  // The next ack's sample; nothing within half a minute: nothing.
  [[nodiscard]] std::optional<LinkSample> sample();
  // Drops an event of b, so that b goes on; false: there is none.
  [[nodiscard]] bool take_at_b() { return b_events_.try_pop().has_value(); }
  // The next event of this kind at b, within half a minute.
  template <typename T>
  [[nodiscard]] std::optional<T> at_b() {
    return await<T>(b_events_);
  }

  [[nodiscard]] Network& a() { return *a_; }
  [[nodiscard]] Network& b() { return *b_; }
  [[nodiscard]] const ShapedMesh& mesh() const { return mesh_; }
  [[nodiscard]] LinkCounters counters() const { return a_->counters(kLink); }
  // Both directions, from now on.
  [[nodiscard]] Status shape(const Bucket& bucket) const;

  static constexpr LinkIndex kLink = 0;  // a -> b

 private:
  explicit ShapedPair(ShapedMesh mesh);
  template <typename T>
  static std::optional<T> await(BoundedQueue<NetworkEvent>& events) {
    constexpr Duration kWaitMax = std::chrono::seconds(30);
    const auto end = std::chrono::steady_clock::now() + kWaitMax;
    while (std::chrono::steady_clock::now() < end) {
      auto event = events.pop_for(std::chrono::milliseconds(100));
      if (!event) continue;
      if (T* found = std::get_if<T>(&*event)) return std::move(*found);
    }
    return std::nullopt;
  }

  ShapedMesh mesh_;
  BoundedQueue<NetworkEvent> a_events_, b_events_;
  std::unique_ptr<Network> a_, b_;
};

}  // namespace kimesh::test
