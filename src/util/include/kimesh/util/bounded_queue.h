// The queue in which messages and work pass between the threads of kimesh.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "kimesh/util/check.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// A first-in first-out queue with a bound on its weight (items, or bytes where `weight` says so).
// Thread: any number on both sides. No lock is held while user code runs.
template <typename T>
class BoundedQueue {
 public:
  // Requires capacity > 0. An item heavier than the capacity is taken when the queue is empty.
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    KIMESH_CHECK(capacity > 0, "a queue holds something");
  }

  // Waits for room. Returns false, and drops the item, when the queue is closed.
  [[nodiscard]] bool push(T item, std::size_t weight = 1) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || has_room(weight); });
    if (closed_) return false;
    add(std::move(item), weight);
    return true;
  }

  // As push, but returns false at once when there is no room, and leaves the item untouched then.
  [[nodiscard]] bool try_push(T&& item, std::size_t weight = 1) {
    std::unique_lock lock(mutex_);
    if (closed_ || !has_room(weight)) return false;
    add(std::move(item), weight);
    return true;
  }

  // Waits for an item. Returns nothing when the queue is closed and empty.
  [[nodiscard]] std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    item_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return take();
  }

  // As pop, but also returns nothing when no item came within `timeout`.
  [[nodiscard]] std::optional<T> pop_for(Duration timeout) {
    std::unique_lock lock(mutex_);
    item_.wait_for(lock, timeout, [&] { return closed_ || !items_.empty(); });
    return take();
  }

  [[nodiscard]] std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    return take();
  }

  // Closes the queue: the items in it can still be popped, and no further ones are taken. Wakes all
  // threads that wait.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    item_.notify_all();
    room_.notify_all();
  }

  [[nodiscard]] bool closed() const {
    std::unique_lock lock(mutex_);
    return closed_;
  }

 private:
  struct Entry {
    T item;
    std::size_t weight;
  };

  bool has_room(std::size_t weight) const {
    return items_.empty() || weight_ + weight <= capacity_;
  }
  void add(T item, std::size_t weight) {
    items_.push_back({std::move(item), weight});
    weight_ += weight;
    item_.notify_one();
  }
  std::optional<T> take() {
    if (items_.empty()) return std::nullopt;
    Entry entry = std::move(items_.front());
    items_.pop_front();
    weight_ -= entry.weight;
    room_.notify_all();  // not one: the first sleeper's item may be too heavy, the next one's not
    return std::move(entry.item);
  }

  mutable std::mutex mutex_;
  std::condition_variable item_;
  std::condition_variable room_;
  std::deque<Entry> items_;
  std::size_t weight_ = 0;
  std::size_t capacity_;
  bool closed_ = false;
};

}  // namespace kimesh
