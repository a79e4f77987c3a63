#include "kimesh/train/training_mesh.h"

#include <utility>
#include <vector>

#include "kimesh/model_files/model_files.h"
#include "kimesh/train/trainer.h"
#include "kimesh/train/weights.h"

namespace kimesh {
namespace {

class TrainingMesh : public MeshObjective {
 public:
  TrainingMesh(RunConfig config, TrainingData data)
      : config_(std::move(config)),
        data_(std::move(data)),
        layout_(model_layout(config_, data_)),
        frozen_(frozen_tensors(config_, data_)) {}

  [[nodiscard]] const Layout& layout() const override { return layout_; }
  [[nodiscard]] const std::vector<double>& weights() const override { return data_.weights; }
  [[nodiscard]] Result<std::unique_ptr<Objective>> part(NodeIndex node) const override {
    return make_trainer(config_, data_, node);
  }
  [[nodiscard]] const NamedValues& frozen() const override { return frozen_; }
  [[nodiscard]] bool has_test_set() const override { return true; }
  [[nodiscard]] bool scores_tokens() const override { return config_.model.kind->reads_tokens(); }
  [[nodiscard]] std::string environment() const override { return training_environment(); }

 private:
  const RunConfig config_;
  const TrainingData data_;
  const Layout layout_;
  const NamedValues frozen_;
};

// Where the network comes with values, and no others are named.
Status start_from_own(const RunConfig& config, TrainingData& data) {
  if (!config.model.kind->has_values()) return ok_status();
  const auto unused = start_from(config, own_values(config, data), data);
  return unused ? ok_status() : Status(unused.error());
}

Status start_from_file(const RunConfig& config, TrainingData& data,
                       const std::function<void(const std::string&)>& tell) {
  const std::string& path = config.model.weights;
  if (path.empty()) return start_from_own(config, data);
  std::vector<std::string> skipped;
  const auto tensors = read_tensors(path, skipped);
  if (!tensors) return Error{ErrorCode::kUserInput, tensors.error().message};
  const auto unused = start_from(config, *tensors, data);
  if (!unused) return Error{ErrorCode::kUserInput, path + ": " + unused.error().message};
  skipped.insert(skipped.end(), unused->begin(), unused->end());
  if (!skipped.empty() && tell)
    tell(path + ": the model has no use for " + std::to_string(skipped.size()) +
         " of its tensors, such as " + skipped.front());
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<MeshObjective>> make_training_mesh(
    const RunConfig& config, std::size_t nodes, std::span<const double> declared_weights,
    const std::function<void(const std::string&)>& tell) {
  auto data = prepare_training_data(config, nodes, declared_weights);
  if (!data) return data.error();
  if (const Status begun = start_from_file(config, *data, tell); !begun) return begun.error();
  return std::unique_ptr<MeshObjective>(std::make_unique<TrainingMesh>(config, std::move(*data)));
}

}  // namespace kimesh
