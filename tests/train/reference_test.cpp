#include "src/train/reference.h"

#include "kimesh/config/options_of_text.h"
#include "tests/train/fixture.h"

namespace kimesh::reference_test {
namespace {

// g = Σ ω_i (g_i + decay · x), v = momentum · v + g, x −= lr · v or, with nesterov,
// x −= lr · (g + momentum · v): the update that topologies spread over nodes.
std::vector<float> train_by_hand(const RunConfig& config, const TrainingData& data, Round rounds) {
  std::vector<std::unique_ptr<BoundTrainer>> nodes;
  for (NodeIndex i = 0; i < data.parts.size(); ++i)
    nodes.push_back(std::make_unique<BoundTrainer>(config, data, i));
  std::vector<float> x(nodes[0]->parameters.span().begin(), nodes[0]->parameters.span().end());
  std::vector<double> velocity(x.size());
  const OptimizerKind::AtWorkers o = config.optimizer.kind->at_workers();
  for (Round round = 0; round < rounds; ++round) {
    std::vector<double> gradient(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) gradient[j] = o.decay * x[j];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::ranges::copy(x, nodes[i]->parameters.span().begin());
      nodes[i]->loss(round);
      for (std::size_t j = 0; j < x.size(); ++j)
        gradient[j] += data.weights[i] * nodes[i]->gradient.span()[j];
    }
    for (std::size_t j = 0; j < x.size(); ++j) {
      velocity[j] = o.momentum * velocity[j] + gradient[j];
      const double direction = o.nesterov ? gradient[j] + o.momentum * velocity[j] : velocity[j];
      x[j] -= static_cast<float>(config.optimizer.lr * direction);
    }
  }
  return x;
}

// Both paths meet in nothing but data, model and first point: views on flat vectors and our update
// here, torch's tensors and torch's optimizer there.
void expect_the_update_by_hand(const std::string& optimizer) {
  set_up_training(1);
  for (RunConfig config : {mlp_config(), cnn_config()})
    for (const std::vector<double>& weights : {std::vector<double>{1}, {1, 1}, {0.2, 0.5, 0.3}}) {
      config.optimizer = options_of_text<OptimizerOptions>(optimizer);
      config.data.split = split_kinds().make("by_label");
      const TrainingData data = make_data(config, weights.size(), weights);
      const auto expected = train_joined(config, data, 5);
      EXPECT_LE(relative_distance(train_by_hand(config, data, 5), expected.parameters), 2e-6)
          << weights.size() << " nodes";
    }
}

// Seen to fail: weights swapped between two nodes; the next round's batch; one layer's view shifted
// by an element.
TEST(Reference, SgdEqualsTheUpdateByHandOnTheNodesOwnGradients) {
  expect_the_update_by_hand("{kind: sgd, lr: 0.1, momentum: 0.9, weight_decay: 1e-3}");
}

// Seen to fail with torch's heavy ball in place of its Nesterov.
TEST(Reference, NesterovEqualsTheUpdateByHandOnTheNodesOwnGradients) {
  expect_the_update_by_hand(
      "{kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 1e-3}");
}

TEST(Reference, AdamwLowersTheLoss) {
  set_up_training(1);
  RunConfig config = mlp_config();
  config.optimizer = options_of_text<OptimizerOptions>("{kind: adamw, lr: 0.003}");
  const TrainingData data = make_data(config, 2);
  const auto run = train_joined(config, data, 60);
  EXPECT_GT(run.losses.front(), 2.0);
  EXPECT_LT(run.losses.back(), 0.7);
}

// Of the test set, after `rounds` of the reference on the data of `node` alone.
double accuracy_alone(RunConfig config, const TrainingData& data, NodeIndex node, Round rounds) {
  config.optimizer = options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.03, momentum: 0.9}");
  const TrainingData alone{data.source, {data.parts[node]}, {1.0}};
  const auto run = train_joined(config, alone, rounds);
  BoundTrainer trainer(config, alone, 0);
  std::ranges::copy(run.parameters, trainer.parameters.span().begin());
  const auto numbers = trainer.objective->evaluate().value();
  return static_cast<double>(numbers.correct) / static_cast<double>(numbers.samples);
}

TEST(Reference, OneNodeLearnsTheDigits) {
  set_up_training(1);
  const RunConfig config = mlp_config("[256, 128]");
  EXPECT_GE(accuracy_alone(config, make_data(config, 1), 0, 300), 0.95);
}

// Why a lost contribution shows in a run by label: no node alone gets anywhere.
// Seen to fail: the even split in its place.
TEST(Reference, NoNodeAlonePassesSixtyPercentByLabel) {
  set_up_training(1);
  RunConfig config = mlp_config("[256, 128]");
  config.data.split = split_kinds().make("by_label");
  const TrainingData data = make_data(config, 4);
  for (NodeIndex node = 0; node < 4; ++node)
    EXPECT_LT(accuracy_alone(config, data, node, 200), 0.6) << "node " << node;
}

}  // namespace
}  // namespace kimesh::reference_test
