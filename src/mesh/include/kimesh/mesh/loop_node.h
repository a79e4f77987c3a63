// One live node whose gradients come from a loop of the caller's own, as those of Python programs
// do. The caller asks what is wanted, and gives it:
//
//   auto node = LoopNode::make(std::move(files), std::move(options));
//   for (;;) switch ((*node)->wait(kTick)) {
//     case LoopWish::kGradient:  // of the batch (*node)->batch(), at parameters(), into gradient()
//       (*node)->give(GradientNumbers{loss, samples});
//       break;
//     case LoopWish::kEnd:
//       return (*node)->end();
//     ...
//   }
//
// The node runs on a thread of its own, which the first wait() starts. It asks for one thing of a
// kind at a time, and waits for the answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "kimesh/mesh/mesh.h"
#include "kimesh/util/aligned_buffer.h"

namespace kimesh {

enum class LoopWish {
  kNothing,     // the limit is over, or there are events
  kGradient,    // answered by give(GradientNumbers) or give(Error)
  kEvaluation,  // at parameters(); answered by give(EvaluationNumbers) or give(Error)
  kState,       // for a checkpoint; answered by give_state()
  kRestore,     // take_restored() has what an earlier process gave for the checkpoint
  kEnd,         // the run is over: end() says how, parameters() hold the node's model
};

// What is told besides, in order.
using LoopEvent = std::variant<RoundRecord, std::string>;  // a string: a notice

struct LoopNodeOptions {
  std::string node;      // which one of the topology
  Layout layout;         // of the parameters, the same at all nodes
  NamedValues frozen{};  // tensors of the model that are not trained, the same at all nodes
  FirstPoint first_point = FirstPoint::kOfFirstNode;
  bool evaluates = false;     // answers kEvaluation
  bool has_state = false;     // answers kState, and is asked kRestore
  bool adds_gradient = true;  // the loop adds to gradient(), which begins at zero; false: it writes
                              // all of gradient(), which begins with anything
  std::string environment = "no LibTorch";  // MeshObjective::environment
  std::vector<std::string> command;         // for the run's record
  // Where records and checkpoints go, and come from where the node resumes: a folder that is there,
  // or is made. Nodes of one machine may share it, and a folder of another config or topology is
  // refused. Empty: a new one under runs. Relative paths are of the directory in which make() is
  // called, whatever the program's is later.
  std::string folder;
  bool resumes = false;  // requires a folder
};

// The two vectors, on which a program may hold windows for as long as it likes.
struct LoopVectors {
  explicit LoopVectors(std::size_t size) : parameters(size), gradient(size) {}
  AlignedBuffer parameters, gradient;
};

// Thread: one at a time, but for stop(), save_now(), round() and batch().
class LoopNode {
 public:
  // Checks all that can be checked before other nodes are called. Memory that the process frees
  // stays with it from now on (util/freed_memory.h). Errors: UserInput, one sentence a line; Io.
  [[nodiscard]] static Result<std::unique_ptr<LoopNode>> make(MeshFiles files,
                                                              LoopNodeOptions options);
  // Ends the run, as stop() does, and waits for it. Where a thread of the node hangs
  // (LiveNodeEnd::hangs), what it works on stays for ever.
  ~LoopNode();

  [[nodiscard]] const Mesh& mesh() const { return *mesh_; }
  [[nodiscard]] NodeIndex self() const { return self_; }
  [[nodiscard]] const RunFolder& folder() const { return folder_; }
  // Fill the parameters with the first point before the first wait(). After it they are the node's,
  // and to be read between a wish and its answer alone; so is the gradient
  // (LoopNodeOptions::adds_gradient). Shared, since a program's windows may outlive the node.
  [[nodiscard]] const std::shared_ptr<LoopVectors>& vectors() const { return vectors_; }

  // Waits, `limit` at most, until something is wanted that has no answer yet, an event is there, or
  // the run has ended.
  [[nodiscard]] LoopWish wait(Duration limit);
  // The number of the batch whose gradient is or was wanted last (Objective::gradient).
  [[nodiscard]] std::uint64_t batch() const;
  // The round of that batch.
  [[nodiscard]] Round round() const;
  // The answers. A gradient is looked through: one that is not finite ends the run, and so does an
  // infinite loss; NaN says that the loss is not known. Each requires that it is wanted; an Error
  // ends the run with its sentence whenever it is given.
  void give(GradientNumbers numbers);
  // The same, after a copy of `parts`, the gradients of the layout's layers in order, to the
  // gradient: one pass both copies and looks through them. Requires the layers' sizes.
  void give(GradientNumbers numbers, std::span<const std::span<const float>> parts);
  void give(EvaluationNumbers numbers);
  void give_state(std::vector<std::byte> state);
  void give(Error error);
  [[nodiscard]] std::vector<std::byte> take_restored();
  [[nodiscard]] std::vector<LoopEvent> take_events();

  // While a gradient is wanted: makes parameters() those of the round that ended last, which is
  // what an evaluation sees, and puts the gradient's point back. show_round() waits for the
  // messages of that round, `limit` at most: false then, or where the run has ended.
  [[nodiscard]] Result<bool> show_round(Duration limit);
  void show_point();

  void stop();      // as Ctrl-C does
  void save_now();  // asks for a checkpoint
  [[nodiscard]] bool is_running() const { return running_; }
  // After kEnd. Errors: as Mesh::run_node.
  [[nodiscard]] const Result<MeshNodeEnd>& end() const { return *end_; }

 private:
  struct GivenGradient {
    GradientNumbers numbers;
    bool is_known_finite = false;  // false: it has to be checked
  };
  class Exchange;
  class Part;
  class Whole;
  LoopNode();
  void run();
  void take_end();
  void give(const GivenGradient& gradient);

  std::shared_ptr<LoopVectors> vectors_;
  const std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<Mesh> mesh_;
  RunFolder folder_{""};
  NodeIndex self_ = 0;
  bool resumes_ = false, running_ = false;
  std::vector<float> aside_;  // the point, while the round is shown
  bool shows_round_ = false;
  std::atomic<bool> stop_{false}, save_{false};
  std::optional<Result<MeshNodeEnd>> end_;
  std::thread thread_;
};

}  // namespace kimesh
