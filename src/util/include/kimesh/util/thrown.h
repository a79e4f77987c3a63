// What the threads of a node throw, kept for the one that can act on it. kimesh throws on purpose
// only where a GPU has failed whose vectors are read; else what comes is a lack of memory, or a
// library's own. An exception that left a thread would end the process without a word, and without
// the model.
#pragma once

#include <atomic>
#include <exception>
#include <optional>
#include <string>

namespace kimesh {

// Thread: any.
class Thrown {
 public:
  // Calls work(). False: it threw, which is kept with what the thread was doing, "computing a
  // gradient": a literal, or text that outlives this. The first that is kept counts. Takes no
  // memory of its own, since the lack of it may be what was thrown.
  template <typename Work>
  bool guard(const char* doing, const Work& work) noexcept {
    try {
      work();
      return true;
    } catch (...) {  // of any type: who looks here ends the run by it
      keep(doing);
      return false;
    }
  }
  // Requires: an exception is being handled.
  void keep(const char* doing) noexcept;

  [[nodiscard]] bool is_empty() const { return state_.load(std::memory_order_acquire) != kKept; }
  // "computing a gradient: no memory is left (std::bad_alloc)"; nothing: nothing was thrown.
  [[nodiscard]] std::optional<std::string> text() const;

 private:
  static constexpr int kNothing = 0, kBeingKept = 1, kKept = 2;
  std::atomic<int> state_{kNothing};
  const char* doing_ = "";
  std::exception_ptr what_;
};

}  // namespace kimesh
