// The objective of a mesh whose model is a plugin.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "kimesh/objective/plugin_model.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/check.h"
#include "plugin_text.h"

namespace kimesh {
namespace {

// More than the largest models have, and a vector of 8 GiB.
constexpr std::size_t kTensorsMax = 10'000;
constexpr std::size_t kDimensionsMax = 16;
constexpr std::size_t kElementsMax = std::size_t{1} << 31;

// What a call leaves as its reason.
class Why {
 public:
  kimesh_why* get() { return &why_; }
  [[nodiscard]] std::string text() {
    text_.back() = 0;
    const std::string line = one_line(text_.data());
    return line.empty() ? "it does not say why" : line;
  }

 private:
  std::array<char, kWhyBytes> text_{};
  kimesh_why why_{text_.data(), text_.size()};
};

// Takes what describe() adds; keeps the first complaint.
struct TensorList : kimesh_tensors {
  TensorList() { add = &TensorList::take; }

  static void take(kimesh_tensors* self, const char* name, std::uint32_t dimensions,
                   const std::int64_t* shape) {
    auto& list = static_cast<TensorList&>(*self);
    if (list.complaint.empty()) list.complaint = list.append(name, dimensions, shape);
  }

  // Empty: it is taken.
  std::string append(const char* name, std::uint32_t dimensions, const std::int64_t* shape) {
    if (name == nullptr || !is_plugin_name(name))
      return fmt::format("tensor {} has no name of 1 to {} characters from '!' to '~'",
                         layout.layers.size(), kPluginNameMax);
    if (std::ranges::find(layout.layers, name, &LayoutLayer::name) != layout.layers.end())
      return fmt::format("two tensors are called '{}'", name);
    if (layout.layers.size() == kTensorsMax || dimensions > kDimensionsMax)
      return fmt::format("'{}' is beyond {} tensors of {} dimensions", name, kTensorsMax,
                         kDimensionsMax);
    LayoutLayer layer{name, {}, layout.size(), 1};
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      if (shape[i] < 1) return fmt::format("'{}' has a dimension of {}", name, shape[i]);
      const auto length = static_cast<std::size_t>(shape[i]);
      if (length > (kElementsMax - layer.offset) / layer.size)
        return fmt::format("with '{}' the tensors have over {} elements", name, kElementsMax);
      layer.shape.push_back(shape[i]);
      layer.size *= length;
    }
    layout.layers.push_back(std::move(layer));
    return {};
  }

  Layout layout;
  std::string complaint;
};

// The library with its settings, as the parts of a mesh share it.
struct Library {
  explicit Library(PluginMesh of_mesh) : mesh(std::move(of_mesh)) {
    namespace fs = std::filesystem;
    folder = fs::absolute(mesh.model.library).lexically_normal().parent_path().string();
    for (const auto& [name, value] : mesh.model.options) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    settings = {folder.c_str(), static_cast<std::uint32_t>(names.size()),
                names.data(),   values.data(),
                mesh.seed,      static_cast<std::uint32_t>(mesh.weights.size())};
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] Error refuses(const std::string& why) const {
    return {ErrorCode::kUserInput,
            fmt::format("{}:{}: {}: {}.", mesh.places.file(), mesh.places.line("model.library"),
                        mesh.model.library, why)};
  }

  const PluginMesh mesh;
  std::string folder;
  std::vector<const char*> names, values;
  kimesh_settings settings{};
  const kimesh_plugin* plugin = nullptr;
  Layout layout;
  AlignedBuffer first_point;
};

// The first element that is NaN or infinite.
std::optional<std::size_t> first_not_finite(std::span<const float> values) {
  const auto bad = std::ranges::find_if_not(values, [](float v) { return std::isfinite(v); });
  if (bad == values.end()) return std::nullopt;
  return static_cast<std::size_t>(bad - values.begin());
}

const std::string& layer_of(const Layout& layout, std::size_t element) {
  const auto after = std::ranges::upper_bound(layout.layers, element, {}, &LayoutLayer::offset);
  return std::prev(after)->name;
}

class PluginPart final : public Objective {
 public:
  // Takes over `objective`, which the library made.
  PluginPart(const Library& library, void* objective) : library_(library), objective_(objective) {}
  ~PluginPart() override { library_.plugin->destroy(objective_); }
  PluginPart(const PluginPart&) = delete;
  PluginPart& operator=(const PluginPart&) = delete;

  [[nodiscard]] const Layout& layout() const override { return library_.layout; }
  void initialise(std::span<float> parameters) override {
    KIMESH_CHECK(parameters.size() == library_.layout.size(), "parameters of this layout");
    std::ranges::copy(library_.first_point.span(), parameters.begin());
  }
  void bind(std::span<float> parameters, std::span<float> gradient) override {
    parameters_ = parameters;
    gradient_ = gradient;
  }

  [[nodiscard]] Result<GradientNumbers> gradient(std::uint64_t batch) override {
    KIMESH_CHECK(!gradient_.empty(), "bind comes before gradient");
    kimesh_gradient_result result{};
    Why why;
    if (library_.plugin->gradient(objective_, batch, parameters_.data(), gradient_.data(), &result,
                                  why.get()) != 0)
      return fails(why.text());
    if (const auto bad = first_not_finite(gradient_))
      return Error{ErrorCode::kNotFinite,
                   fmt::format("the gradient of tensor '{}' is {}", layer_of(library_.layout, *bad),
                               gradient_[*bad])};
    if (!std::isfinite(result.loss))
      return Error{ErrorCode::kNotFinite, fmt::format("the plugin's loss is {}", result.loss)};
    if (result.samples == 0) return fails("a batch of no sample");
    return GradientNumbers{result.loss, result.samples};
  }

  [[nodiscard]] Result<EvaluationNumbers> evaluate() override {
    KIMESH_CHECK(!parameters_.empty(), "bind comes before evaluate");
    kimesh_evaluation_result result{};
    if (library_.plugin->evaluate == nullptr) return EvaluationNumbers{};
    library_.plugin->evaluate(objective_, parameters_.data(), &result);
    if (result.correct > result.samples)
      return fails(fmt::format("an evaluation with {} of {} samples correct", result.correct,
                               result.samples));
    return EvaluationNumbers{result.correct, result.samples, result.loss_sum};
  }

 private:
  [[nodiscard]] Error fails(const std::string& why) const {
    return {ErrorCode::kIo, fmt::format("{}: {}", library_.mesh.model.library, why)};
  }

  const Library& library_;
  void* const objective_;
  std::span<float> parameters_, gradient_;
};

class PluginMeshObjective final : public MeshObjective {
 public:
  explicit PluginMeshObjective(PluginMesh mesh) : library_(std::move(mesh)) {}

  [[nodiscard]] Status load() {
    const PluginMesh& mesh = library_.mesh;
    const auto opened = open_plugin(mesh.model.library, mesh.places);
    if (!opened.ok()) return Error{ErrorCode::kUserInput, to_string(opened.problems.front())};
    library_.plugin = opened.value;
    TensorList tensors;
    Why why;
    if (library_.plugin->describe(&library_.settings, &tensors, why.get()) != 0)
      return library_.refuses(why.text());
    if (!tensors.complaint.empty()) return library_.refuses(tensors.complaint);
    if (tensors.layout.layers.empty()) return library_.refuses("it has no tensor to train");
    library_.layout = std::move(tensors.layout);
    return draw();
  }

  [[nodiscard]] const Layout& layout() const override { return library_.layout; }
  [[nodiscard]] const std::vector<double>& weights() const override {
    return library_.mesh.weights;
  }
  [[nodiscard]] Result<std::unique_ptr<Objective>> part(NodeIndex node) const override {
    void* objective = nullptr;
    Why why;
    if (library_.plugin->create(&library_.settings, static_cast<std::uint32_t>(node), &objective,
                                why.get()) != 0)
      return library_.refuses(why.text());
    return std::unique_ptr<Objective>(std::make_unique<PluginPart>(library_, objective));
  }
  [[nodiscard]] bool has_test_set() const override { return library_.plugin->evaluate != nullptr; }
  [[nodiscard]] std::string canonical() const override {
    return library_.mesh.only_parameters ? "" : fmt::format("plugin {}\n", library_.plugin->name);
  }
  [[nodiscard]] std::string environment() const override {
    return fmt::format("plugin {}", library_.plugin->name);
  }

 private:
  [[nodiscard]] Status draw() {
    library_.first_point = AlignedBuffer(library_.layout.size());
    const std::span<float> point = library_.first_point.span();
    Why why;
    if (library_.plugin->first_point(&library_.settings, point.data(), why.get()) != 0)
      return library_.refuses(why.text());
    if (const auto bad = first_not_finite(point))
      return library_.refuses(fmt::format("its first point is {} in tensor '{}'", point[*bad],
                                          layer_of(library_.layout, *bad)));
    return ok_status();
  }

  Library library_;
};

}  // namespace

Result<std::unique_ptr<MeshObjective>> make_plugin_mesh(PluginMesh mesh) {
  auto objective = std::make_unique<PluginMeshObjective>(std::move(mesh));
  if (const Status loaded = objective->load(); !loaded) return loaded.error();
  return std::unique_ptr<MeshObjective>(std::move(objective));
}

}  // namespace kimesh
