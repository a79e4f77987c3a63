// What a loop and its node hand each other: at most one wish of each kind, with its answer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/mesh/loop_node.h"

namespace kimesh {

// Thread: the loop's and the node's, as each function says.
class LoopNode::Exchange {
 public:
  // ---- the node's threads. They wait until the loop has answered. Errors: the loop's own; or
  // UserInput, when nobody wants it any more, and the loop may still be at work on it.
  // `read` is called meanwhile, when the loop wants to see w.
  [[nodiscard]] Result<GivenGradient> ask_gradient(std::uint64_t batch,
                                                   const ParametersReader& read);
  void begin_round(Round round);  // of the gradients that follow
  [[nodiscard]] Result<EvaluationNumbers> ask_evaluation();
  [[nodiscard]] Result<std::vector<std::byte>> ask_state();
  // Whether the loop goes on, without a wait. Errors: the loop's own.
  [[nodiscard]] Status ready() const;
  void restore(std::vector<std::byte> state);
  void tell(LoopEvent event);
  void interrupt();  // from now on nothing is wanted
  void end();        // the run is over

  // ---- the loop's
  [[nodiscard]] LoopWish wait(Duration limit);
  [[nodiscard]] Round round() const;
  [[nodiscard]] std::uint64_t batch() const;
  void give(const GivenGradient& gradient);
  void give(Error error);
  void give(EvaluationNumbers numbers);
  void give_state(std::vector<std::byte> state);
  [[nodiscard]] std::vector<std::byte> take_restored();
  [[nodiscard]] std::vector<LoopEvent> take_events();
  // Lets the node's thread copy w, once the round before that of the wanted gradient has ended.
  // False: it did not within the limit, or the run has ended.
  [[nodiscard]] Result<bool> read(std::span<float> w, Duration limit);

 private:
  template <typename Answer>
  struct Slot {
    bool wanted = false;  // and not answered yet
    std::optional<Answer> answer;
  };
  template <typename Answer>
  [[nodiscard]] Result<Answer> ask(Slot<Answer>& slot);
  // What the slot holds, or why it does not. Requires the lock.
  template <typename Answer>
  [[nodiscard]] Result<Answer> take(Slot<Answer>& slot);
  template <typename Answer>
  void answer(Slot<Answer>& slot, Answer value);
  [[nodiscard]] LoopWish wish() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Slot<GivenGradient> gradient_;
  Slot<EvaluationNumbers> evaluation_;
  Slot<std::vector<std::byte>> state_;
  std::optional<Error> failed_;  // of the loop: the answer to whatever is asked from then on
  std::optional<std::vector<std::byte>> restored_;
  std::deque<LoopEvent> events_;
  std::uint64_t batch_ = 0;
  Round round_ = 0;                          // of that batch
  std::optional<Round> first_round_;         // of this process
  std::optional<Round> ended_round_;         // the last that ended in this process
  std::optional<std::span<float>> reading_;  // where the loop wants w
  Status read_ = ok_status();
  bool interrupted_ = false, ended_ = false;
};

}  // namespace kimesh
