// kimesh._core: one node of a mesh whose gradients come from a loop in Python. The package kimesh
// wraps it; nothing here knows PyTorch, NumPy's arrays are windows on kimesh's memory.
//
// No thread of kimesh's ever takes the interpreter's lock: Python asks, and waits without it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "kimesh/data/split.h"
#include "kimesh/mesh/loop_node.h"
#include "kimesh/model_files/model_files.h"
#include "kimesh/records/run_folder.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace kimesh {
namespace {

// A mistake of the user's, found before the run: the sentences of kimesh, one a line.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A file, an address or the run itself failed.
struct MeshError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void raise(const Error& error) {
  if (error.code == ErrorCode::kUserInput) throw ConfigError(error.message);
  throw MeshError(error.message);
}
template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

// A name and a shape.
using Named = std::pair<std::string, std::vector<std::int64_t>>;

Layout layout_of(const std::vector<Named>& parameters) {
  Layout layout;
  std::size_t offset = 0;
  for (const auto& [name, shape] : parameters) {
    const auto size = static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
    layout.layers.push_back({name, shape, offset, size});
    offset += size;
  }
  return layout;
}

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Window = nb::ndarray<nb::numpy, float, nb::ndim<1>>;

// A NumPy array on floats that live as long as it does.
Window window(std::shared_ptr<LoopVectors> vectors, std::span<float> floats) {
  nb::capsule owner(new std::shared_ptr<LoopVectors>(std::move(vectors)),
                    [](void* p) noexcept { delete static_cast<std::shared_ptr<LoopVectors>*>(p); });
  return Window(floats.data(), {floats.size()}, owner);
}

MeshFiles load(const std::string& config, const std::string& topology, const std::string& keys) {
  Loaded<MeshFiles> files = load_mesh_files(config, topology);
  std::string text;
  for (const Problem& problem : files.problems)
    text += (text.empty() ? "" : "\n") + to_string(problem);
  if (!files.ok()) throw ConfigError(text);
  if (!keys.empty()) files.value.topology.keys_folder = keys;
  return std::move(files.value);
}

class Node {
 public:
  Node(const std::string& config, const std::string& topology, const std::string& name,
       const std::vector<Named>& parameters, const std::vector<Named>& frozen,
       const Floats& frozen_values, bool first_nodes, bool evaluates, bool has_state,
       bool adds_gradient, const std::string& environment, const std::vector<std::string>& command,
       const std::string& folder, bool resumes, const std::string& keys) {
    LoopNodeOptions options;
    options.node = name;
    options.layout = layout_of(parameters);
    options.frozen.layout = layout_of(frozen);
    options.frozen.values.assign(frozen_values.data(), frozen_values.data() + frozen_values.size());
    options.first_point = first_nodes ? FirstPoint::kOfFirstNode : FirstPoint::kAlike;
    options.evaluates = evaluates;
    options.has_state = has_state;
    options.adds_gradient = adds_gradient;
    options.environment = environment;
    options.command = command;
    options.folder = folder;
    options.resumes = resumes;
    node_ = value_of(LoopNode::make(load(config, topology, keys), std::move(options)));
  }
  ~Node() {
    const nb::gil_scoped_release others_may_run;
    node_.reset();
  }

  [[nodiscard]] Window parameters() const {
    return window(node_->vectors(), node_->vectors()->parameters.span());
  }
  [[nodiscard]] Window gradient() const {
    return window(node_->vectors(), node_->vectors()->gradient.span());
  }

  // `arrays`: the gradients of the parameters, flat, in order and of their sizes; none: gradient()
  // holds them.
  void give_gradient(double loss, std::uint64_t samples,
                     const std::optional<std::vector<Floats>>& arrays) {
    const GradientNumbers numbers{loss, samples};
    if (!arrays) return node_->give(numbers);
    std::vector<std::span<const float>> parts;
    for (const Floats& array : *arrays) parts.emplace_back(array.data(), array.size());
    const nb::gil_scoped_release others_may_run;
    node_->give(numbers, parts);
  }

  LoopWish wait(double seconds) {
    const nb::gil_scoped_release others_may_run;
    return node_->wait(from_seconds(seconds));
  }
  bool show_round(double seconds) {
    const nb::gil_scoped_release others_may_run;
    return value_of(node_->show_round(from_seconds(seconds)));
  }
  // Rounds as lines of JSON, as the run's records have them; notices as they are.
  nb::list take_events() {
    nb::list list;
    for (const LoopEvent& event : node_->take_events()) {
      const auto* round = std::get_if<RoundRecord>(&event);
      list.append(round != nullptr ? nb::make_tuple("round", to_line(*round))
                                   : nb::make_tuple("notice", std::get<std::string>(event)));
    }
    return list;
  }
  void give_state(const nb::bytes& state) {
    const auto* bytes = reinterpret_cast<const std::byte*>(state.c_str());
    node_->give_state({bytes, bytes + state.size()});
  }
  nb::bytes take_restored() {
    const std::vector<std::byte> state = node_->take_restored();
    return nb::bytes(state.data(), state.size());
  }
  // outcome, reason, text, rounds, seconds.
  [[nodiscard]] nb::tuple end() const {
    const auto& end = node_->end();
    if (!end) return nb::make_tuple("failed", "none", end.error().message, 0, 0.0);
    const LiveNodeEnd& node = end->node;
    if (!end->files)
      return nb::make_tuple("failed", "none", end->files.error().message, node.rounds,
                            node.seconds);
    return nb::make_tuple(outcome_name(node.outcome), reason_name(node.reason), node.text,
                          node.rounds, node.seconds);
  }
  // Deals the samples that have `labels` out evenly.
  void deal_out(const Labels& labels) {
    const Mesh& mesh = node_->mesh();
    const SampleClasses classes = classes_of(labels);
    auto parts = split_data(*split_kinds().make("even"), {classes, mesh.objective().weights(),
                                                          mesh.nodes(), mesh.config().seed});
    batches_.emplace(std::move(parts[node_->self()]), node_->self(), mesh.config().seed);
  }
  // The samples of the wanted batch, of those that were dealt out.
  [[nodiscard]] std::vector<std::uint32_t> indices(int size) {
    if (size < 1) throw ConfigError("a batch holds a sample at least");
    if (!batches_) throw ConfigError("no samples were dealt out: call deal_out before indices");
    const auto samples = batches_->samples(size, node_->batch());
    return {samples.begin(), samples.end()};
  }
  // The samples that this node evaluates, of a test set with these labels.
  [[nodiscard]] std::vector<std::uint32_t> test_indices(const Labels& labels) const {
    const Mesh& mesh = node_->mesh();
    return test_part(classes_of(labels), node_->self(), mesh.nodes(), mesh.config().seed);
  }
  LoopNode& node() { return *node_; }
  const LoopNode& node() const { return *node_; }

 private:
  [[nodiscard]] SampleClasses classes_of(const Labels& labels) const {
    const std::span<const std::int64_t> all(labels.data(), labels.size());
    if (all.size() < node_->mesh().nodes()) throw ConfigError("there are fewer samples than nodes");
    constexpr std::int64_t kLabelMax = std::numeric_limits<std::uint16_t>::max();
    const auto [least, most] = std::ranges::minmax(all);
    if (least < 0 || most > kLabelMax)
      throw ConfigError("labels are classes from 0 to " + std::to_string(kLabelMax) +
                        ": where there are no classes, give zeros");
    return {{all.begin(), all.end()}, most + 1};
  }

  std::unique_ptr<LoopNode> node_;
  std::optional<Batches> batches_;  // of the data set that was dealt out last
};

template <typename T>
nb::object array(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), std::move(owner)));
}

// Images, scaled as `kimesh` scales them, and their classes.
nb::tuple samples_of(const Dataset& data) {
  const SampleShape& shape = data.shape;
  std::vector<float> images(data.samples() * shape.inputs());
  for (std::uint32_t i = 0; i < data.samples(); ++i)
    data.copy_sample(i, std::span(images).subspan(i * shape.inputs(), shape.inputs()));
  const std::vector<std::int64_t> labels(data.labels.begin(), data.labels.end());
  const auto side = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  return nb::make_tuple(array(std::move(images), {data.samples(), side(shape.channels),
                                                  side(shape.height), side(shape.width)}),
                        array(labels, {data.samples()}));
}

// Training set and test set of the digits that are built in.
nb::tuple digits(std::uint64_t seed) {
  const auto source = value_of(open_data(*data_kinds().make("digits"), seed));
  const auto all = [](const SampleClasses& set) {
    std::vector<std::uint32_t> samples(set.samples());
    std::iota(samples.begin(), samples.end(), 0u);
    return samples;
  };
  return nb::make_tuple(samples_of(value_of(source->read_train(all(source->train())))),
                        samples_of(value_of(source->read_test(all(source->test())))));
}

// Name, shape and values of each tensor of a safetensors file.
nb::list read_weights(const std::string& path) {
  std::vector<std::string> skipped;
  const NamedValues tensors = value_of(read_tensors(path, skipped));
  nb::list list;
  for (const LayoutLayer& layer : tensors.layout.layers) {
    const auto values = std::span(tensors.values).subspan(layer.offset, layer.size);
    list.append(
        nb::make_tuple(layer.name, layer.shape,
                       array(std::vector<float>(values.begin(), values.end()), {layer.size})));
  }
  return list;
}

void define_node(nb::module_& module) {
  nb::enum_<LoopWish>(module, "Wish")
      .value("NOTHING", LoopWish::kNothing)
      .value("GRADIENT", LoopWish::kGradient)
      .value("EVALUATION", LoopWish::kEvaluation)
      .value("STATE", LoopWish::kState)
      .value("RESTORE", LoopWish::kRestore)
      .value("END", LoopWish::kEnd);
  nb::class_<Node>(module, "Node")
      .def(nb::init<const std::string&, const std::string&, const std::string&,
                    const std::vector<Named>&, const std::vector<Named>&, const Floats&, bool, bool,
                    bool, bool, const std::string&, const std::vector<std::string>&,
                    const std::string&, bool, const std::string&>(),
           nb::kw_only(), "config"_a, "topology"_a, "name"_a, "parameters"_a, "frozen"_a,
           "frozen_values"_a, "first_nodes"_a, "evaluates"_a, "has_state"_a, "adds_gradient"_a,
           "environment"_a, "command"_a, "folder"_a, "resumes"_a, "keys"_a)
      .def("parameters", &Node::parameters)
      .def("gradient", &Node::gradient)
      .def("wait", &Node::wait, "seconds"_a)
      .def("batch", [](const Node& n) { return n.node().batch(); })
      .def("round", [](const Node& n) { return n.node().round(); })
      .def("folder", [](const Node& n) { return n.node().folder().path(); })
      .def("nodes", [](const Node& n) { return n.node().mesh().plan().view.nodes; })
      .def("seed", [](const Node& n) { return n.node().mesh().config().seed; })
      .def("deal_out", &Node::deal_out, "labels"_a)
      .def("indices", &Node::indices, "size"_a)
      .def("test_indices", &Node::test_indices, "labels"_a)
      .def("give_gradient", &Node::give_gradient, "loss"_a, "samples"_a, "arrays"_a.none())
      .def(
          "give_evaluation",
          [](Node& n, std::uint64_t correct, std::uint64_t samples, double loss_sum) {
            n.node().give(EvaluationNumbers{correct, samples, loss_sum});
          },
          "correct"_a, "samples"_a, "loss_sum"_a)
      .def("give_state", &Node::give_state, "state"_a)
      .def("take_restored", &Node::take_restored)
      .def(
          "fail",
          [](Node& n, const std::string& sentence) {
            n.node().give(Error{ErrorCode::kUserInput, sentence});
          },
          "sentence"_a)
      .def("take_events", &Node::take_events)
      .def("show_round", &Node::show_round, "seconds"_a)
      .def("show_point", [](Node& n) { n.node().show_point(); })
      .def("stop", [](Node& n) { n.node().stop(); })
      .def("save_now", [](Node& n) { n.node().save_now(); })
      .def("is_running", [](const Node& n) { return n.node().is_running(); })
      .def("end", &Node::end);
}

}  // namespace
}  // namespace kimesh

NB_MODULE(_core, module) {
  nb::exception<kimesh::ConfigError>(module, "ConfigError", PyExc_ValueError);
  nb::exception<kimesh::MeshError>(module, "MeshError", PyExc_RuntimeError);
  module.def("version", [] { return std::string(kimesh::version()); });
  module.def("digits", &kimesh::digits, "seed"_a);
  module.def(
      "keys_folder", [](const std::string& run) { return kimesh::RunFolder(run).keys_folder(); },
      "run"_a);
  module.def("read_weights", &kimesh::read_weights, "path"_a);
  kimesh::define_node(module);
}
