#include "kimesh/mesh/loop_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>
#include <utility>

#include "absolute_path.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/util/check.h"
#include "kimesh/util/freed_memory.h"
#include "loop_exchange.h"

namespace kimesh {
namespace {

// 1 for infinity and NaN, else 0. An "or" of these is vectorised, unlike a sum of the values, whose
// additions depend on one another.
std::uint32_t is_bad(float value) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  return static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
}

bool is_finite(std::span<const float> values) {
  std::uint32_t bad = 0;
  for (const float value : values) bad |= is_bad(value);
  return bad == 0;
}

// The same, while values are copied to `to`.
bool copy_finite(std::span<const float> values, std::span<float> to) {
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bad |= is_bad(values[i]);
    to[i] = values[i];
  }
  return bad == 0;
}

Error not_finite(const Layout& layout, std::span<const float> gradient) {
  for (const LayoutLayer& layer : layout.layers)
    if (!is_finite(gradient.subspan(layer.offset, layer.size)))
      return {ErrorCode::kNotFinite,
              fmt::format("the gradient of layer '{}' holds NaN or infinity", layer.name)};
  return {ErrorCode::kNotFinite, "the loss is NaN or infinity"};
}

// The program may change its directory before the run begins, or while it lasts.
Result<RunFolder> folder_of(const Mesh& mesh, const LoopNodeOptions& options) {
  if (options.resumes) return RunFolder(absolute_path(options.folder));
  if (options.folder.empty()) {
    NewRunFolder made_up;
    made_up.parent = absolute_path(made_up.parent);
    return mesh.make_folder(made_up, options.command);
  }
  return mesh.share_folder(options.folder, options.command);
}

}  // namespace

// What the node's threads call.
class LoopNode::Part final : public Objective {
 public:
  Part(const Layout& layout, const LoopNodeOptions& options, Exchange& exchange,
       LoopVectors& vectors)
      : layout_(layout),
        has_state_(options.has_state),
        adds_gradient_(options.adds_gradient),
        exchange_(exchange),
        vectors_(vectors) {}

  [[nodiscard]] const Layout& layout() const override { return layout_; }
  ObjectiveMemory memory() override {
    return {vectors_.parameters.span(), vectors_.gradient.span()};
  }
  // The point that the program has put there.
  void initialise(std::span<float> parameters) override {
    if (parameters.data() != vectors_.parameters.span().data())
      std::ranges::copy(vectors_.parameters.span(), parameters.begin());
  }
  void bind(std::span<float>, std::span<float> gradient) override { gradient_ = gradient; }
  void lend(const ParametersReader& reader) override { reader_ = reader; }

  void begin_round(Round round) override { exchange_.begin_round(round); }
  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    if (adds_gradient_) std::ranges::fill(gradient_, 0.0f);
    const auto given = exchange_.ask_gradient(batch, reader_);
    if (!given) return given.error();
    const auto& [numbers, is_known_finite] = *given;
    if (std::isinf(numbers.loss) || !(is_known_finite || is_finite(gradient_)))
      return not_finite(layout_, gradient_);
    return numbers;
  }
  Result<EvaluationNumbers> evaluate() override { return exchange_.ask_evaluation(); }
  Status ready() override { return exchange_.ready(); }
  void interrupt() override { exchange_.interrupt(); }

  [[nodiscard]] bool has_state() const override { return has_state_; }
  Result<std::vector<std::byte>> save() override { return exchange_.ask_state(); }
  Status restore(std::span<const std::byte> state) override {
    exchange_.restore({state.begin(), state.end()});
    return ok_status();
  }

 private:
  const Layout& layout_;
  const bool has_state_, adds_gradient_;
  Exchange& exchange_;
  LoopVectors& vectors_;
  std::span<float> gradient_;
  ParametersReader reader_;
};

// The parts of other nodes are in other processes. Shares what a part uses, since it stays for ever
// where a thread of the node hangs (Mesh::run_node).
class LoopNode::Whole final : public MeshObjective {
 public:
  Whole(LoopNodeOptions options, std::vector<double> weights, std::shared_ptr<Exchange> exchange,
        std::shared_ptr<LoopVectors> vectors)
      : options_(std::move(options)),
        weights_(std::move(weights)),
        exchange_(std::move(exchange)),
        vectors_(std::move(vectors)) {}

  [[nodiscard]] const Layout& layout() const override { return options_.layout; }
  [[nodiscard]] const std::vector<double>& weights() const override { return weights_; }
  [[nodiscard]] Result<std::unique_ptr<Objective>> part(NodeIndex) const override {
    return std::unique_ptr<Objective>(
        std::make_unique<Part>(options_.layout, options_, *exchange_, *vectors_));
  }
  [[nodiscard]] const NamedValues& frozen() const override { return options_.frozen; }
  [[nodiscard]] FirstPoint first_point() const override { return options_.first_point; }
  [[nodiscard]] bool has_test_set() const override { return options_.evaluates; }
  [[nodiscard]] std::string environment() const override { return options_.environment; }

 private:
  const LoopNodeOptions options_;
  const std::vector<double> weights_;
  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<LoopVectors> vectors_;
};

LoopNode::LoopNode() : exchange_(std::make_shared<Exchange>()) {}

Result<std::unique_ptr<LoopNode>> LoopNode::make(MeshFiles files, LoopNodeOptions options) {
  if (!files.config.own_objective)
    return Error{ErrorCode::kUserInput,
                 files.config_path +
                     ": the program brings the model and the data. Write "
                     "objective: own in place of model, data and quadratic."};
  const auto self = files.topology.find_node(options.node);
  if (!self)
    return Error{ErrorCode::kUserInput, fmt::format("{}: the topology has no node '{}'",
                                                    files.topology_path, options.node)};
  files.topology.keys_folder = absolute_path(files.topology.keys_folder);
  keep_freed_memory();
  std::unique_ptr<LoopNode> node(new LoopNode());
  node->self_ = *self;
  node->resumes_ = options.resumes;
  node->vectors_ = std::make_shared<LoopVectors>(options.layout.size());
  auto weights = shares_of_weights(declared_weights(files.topology), files.topology.nodes.size());
  auto mesh = Mesh::make(
      std::move(files),
      std::make_unique<Whole>(options, std::move(weights), node->exchange_, node->vectors_));
  if (!mesh) return mesh.error();
  node->mesh_ = std::move(*mesh);
  if (const Status there = node->mesh_->check_device(); !there) return there.error();
  if (const auto keys = load_keys(node->mesh_->topology(), *self); !keys) return keys.error();
  auto folder = folder_of(*node->mesh_, options);
  if (!folder) return folder.error();
  node->folder_ = std::move(*folder);
  return node;
}

LoopNode::~LoopNode() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void LoopNode::stop() {
  stop_ = true;
}
void LoopNode::save_now() {
  save_ = true;
}

void LoopNode::run() {
  MeshRunOptions options;
  options.callbacks.round = [this](NodeIndex, const RoundRecord& round, const RunTally&) {
    exchange_->tell(round);
  };
  options.callbacks.notice = [this](NodeIndex, const std::string& text) { exchange_->tell(text); };
  options.stop = &stop_;
  options.folder = &folder_;
  options.resumes = resumes_;
  options.save = &save_;
  Thrown thrown;
  if (!thrown.guard("beginning or ending", [&] { end_.emplace(mesh_->run_node(self_, options)); }))
    end_.emplace(Error{ErrorCode::kIo, fmt::format("node {}: {}", mesh_->plan().view.nodes[self_],
                                                   *thrown.text())});
  exchange_->end();
}

LoopWish LoopNode::wait(Duration limit) {
  if (!running_ && !thread_.joinable() && end_) return LoopWish::kEnd;  // end_ is the thread's
  if (!thread_.joinable()) {
    running_ = true;
    thread_ = std::thread([this] { run(); });
  }
  const LoopWish wish = exchange_->wait(limit);
  if (wish == LoopWish::kEnd) take_end();
  return wish;
}

// From the loop's thread, which may have looked at the parameters until now.
void LoopNode::take_end() {
  thread_.join();
  running_ = shows_round_ = false;
  std::ranges::fill(vectors_->gradient.span(), 0.0f);
  if (end_->ok() && (*end_)->node.started)
    std::ranges::copy((*end_)->node.parameters, vectors_->parameters.span().begin());
}

Round LoopNode::round() const {
  return exchange_->round();
}
std::uint64_t LoopNode::batch() const {
  return exchange_->batch();
}
void LoopNode::give(const GivenGradient& gradient) {
  KIMESH_CHECK(!shows_round_, "a gradient is of its point: show_point() comes before");
  exchange_->give(gradient);
}
void LoopNode::give(GradientNumbers numbers) {
  give(GivenGradient{numbers, false});
}
void LoopNode::give(GradientNumbers numbers, std::span<const std::span<const float>> parts) {
  std::span<float> to = vectors_->gradient.span();
  bool finite = true;
  for (const std::span<const float> part : parts) {
    KIMESH_CHECK(part.size() <= to.size(), "parts of the layers' sizes");
    finite = copy_finite(part, to.first(part.size())) && finite;
    to = to.subspan(part.size());
  }
  KIMESH_CHECK(to.empty(), "a part for each layer");
  give(GivenGradient{numbers, finite});
}
void LoopNode::give(Error error) {
  exchange_->give(std::move(error));
}
void LoopNode::give(EvaluationNumbers numbers) {
  exchange_->give(numbers);
}
void LoopNode::give_state(std::vector<std::byte> state) {
  exchange_->give_state(std::move(state));
}
std::vector<std::byte> LoopNode::take_restored() {
  return exchange_->take_restored();
}
std::vector<LoopEvent> LoopNode::take_events() {
  return exchange_->take_events();
}

Result<bool> LoopNode::show_round(Duration limit) {
  KIMESH_CHECK(!shows_round_, "one round is shown at a time");
  aside_.resize(vectors_->parameters.size());
  auto read = exchange_->read(aside_, limit);
  if (!read || !*read) return read;
  std::ranges::swap_ranges(aside_, vectors_->parameters.span());
  shows_round_ = true;
  return true;
}

void LoopNode::show_point() {
  if (!std::exchange(shows_round_, false)) return;
  std::ranges::copy(aside_, vectors_->parameters.span().begin());
}

}  // namespace kimesh
