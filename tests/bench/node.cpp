// What a live node costs beside its gradients, at the speed of loopback: the time of a round over
// that of the slowest gradient in it, and memory over a process that only computes gradients of the
// same model. Nodes are processes of one LibTorch thread each; images are made up.
//
//   bench_node [--rounds N] [--batch N] [--json FILE]
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/train/torch_models.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/check.h"
#include "kimesh/util/random.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"

namespace kimesh::bench {
namespace {

constexpr double kRatio = 0.01;  // fixed topk

// Images as CIFAR-10's; what they show does not matter here.
Dataset make_images(std::size_t count) {
  Dataset data;
  data.shape.channels = 3;
  data.shape.height = data.shape.width = 32;
  data.shape.classes = 10;
  data.scale.assign(3, 1.0f / 128);
  data.offset.assign(3, -1.0f);
  Random random(1, 0, 0, Purpose::kTest);
  for (std::size_t i = 0; i < count * data.shape.inputs(); ++i)
    data.pixels.push_back(static_cast<std::uint8_t>(255 * random.uniform()));
  for (std::size_t i = 0; i < count; ++i) data.labels.push_back(static_cast<std::uint8_t>(i % 10));
  return data;
}

struct Job {
  RunConfig config;
  std::string kind = "ring";
  std::size_t nodes = 2;
  bool single_server = false;
};

TrainingData make_data(const Job& job) {
  TrainingData data{data_in_memory(make_images(1024), make_images(64)), {}, {}};
  data.weights.assign(job.nodes, 1.0 / static_cast<double>(job.nodes));
  data.parts = split_data(*job.config.data.split,
                          {data.source->train(), data.weights, job.nodes, job.config.seed});
  return data;
}

// What a child process found out, in the order of report().
using Report = std::vector<double>;

// A child that sends what `work` returns through a pipe. The parent never touches LibTorch, so
// every child begins small.
class Child {
 public:
  explicit Child(const std::function<Report()>& work) {
    int ends[2];
    KIMESH_CHECK(::pipe(ends) == 0, "a pipe");
    pid_ = ::fork();
    KIMESH_CHECK(pid_ >= 0, "a process");
    if (pid_ == 0) {
      const Report report = work();
      const std::size_t bytes = report.size() * sizeof(double);
      _exit(::write(ends[1], report.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  Report wait() {
    Report report;
    double value = 0;
    while (::read(from_, &value, sizeof value) == sizeof value) report.push_back(value);
    ::close(from_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    KIMESH_CHECK(status == 0, "the child ended well; its words are above");
    return report;
  }

 private:
  pid_t pid_ = 0;
  int from_ = -1;
};

TopologyFile make_topology(const Job& job) {
  TopologyFile topology;
  topology.kind = topology_kinds().make(job.kind);
  const std::vector<int> ports = *free_ports(job.nodes);
  for (NodeIndex i = 0; i < job.nodes; ++i) {
    NodeSpec node;
    node.name = std::string(1, static_cast<char>('a' + i));
    node.address = fmt::format("tcp://127.0.0.1:{}", ports[i]);
    topology.nodes.push_back(node);
    if (i == 0 || !job.single_server) topology.servers.push_back(i);
  }
  return topology;
}

// The trainers of the job, on images that are made up.
class MadeUpTraining final : public MeshObjective {
 public:
  explicit MadeUpTraining(const Job& job)
      : config_(job.config), data_(make_data(job)), layout_(model_layout(config_, data_)) {}
  [[nodiscard]] const Layout& layout() const override { return layout_; }
  [[nodiscard]] const std::vector<double>& weights() const override { return data_.weights; }
  [[nodiscard]] Result<std::unique_ptr<Objective>> part(NodeIndex node) const override {
    return make_trainer(config_, data_, node);
  }

 private:
  const RunConfig config_;
  const TrainingData data_;
  const Layout layout_;
};

// Seconds of each round and of its own gradient, alternating, and the memory at last.
Report run_node(const Job& job, const TopologyFile& topology, NodeIndex self) {
  set_up_training(1);
  const auto mesh =
      std::move(*Mesh::make({job.config, topology, "", ""}, std::make_unique<MadeUpTraining>(job)));
  Report report;
  MeshRunOptions options;
  options.callbacks.round = [&](NodeIndex, const RoundRecord& record, const RunTally&) {
    if (record.confirmation) return;
    report.push_back(record.round_s);
    report.push_back(record.compute_s);
  };
  const auto end = mesh->run_node(self, options);
  KIMESH_CHECK(end.ok(), "the node opens");
  KIMESH_CHECK(end->node.outcome == Outcome::kDone, end->node.text);
  report.push_back(peak_megabytes());
  return report;
}

std::vector<Report> run_mesh(const Job& job) {
  const TopologyFile topology = make_topology(job);
  std::vector<Child> children;
  for (NodeIndex i = 0; i < job.nodes; ++i)
    children.emplace_back([&, i] { return run_node(job, topology, i); });
  std::vector<Report> reports;
  for (Child& child : children) reports.push_back(child.wait());
  return reports;
}

// A process that only loads LibTorch and computes gradients of the model.
Report only_gradients(const Job& job) {
  set_up_training(1);
  const TrainingData data = make_data(job);
  const auto objective = std::move(*make_trainer(job.config, data, 0));
  const std::size_t size = objective->layout().size();
  AlignedBuffer parameters(size), gradient(size);
  objective->initialise(parameters.span());
  objective->bind(parameters.span(), gradient.span());
  for (Round round = 0; round < *job.config.stop.rounds; ++round)
    KIMESH_CHECK(objective->gradient(round).ok(), "a gradient");
  return {peak_megabytes(), 4e-6 * static_cast<double>(size)};
}

// The last round is dense, the first one makes LibTorch's plans: both are left out.
void time_rounds(const Job& job, Figures& figures) {
  const std::vector<Report> reports = run_mesh(job);
  std::vector<double> overheads, gradients;
  for (Round round = 1; round + 1 < *job.config.stop.rounds; ++round) {
    double longest = 0, gradient = 0;
    for (const Report& report : reports) {
      longest = std::max(longest, report[2 * round]);
      gradient = std::max(gradient, report[2 * round + 1]);
    }
    overheads.push_back(100 * (longest - gradient) / gradient);
    gradients.push_back(1000 * gradient);
  }
  figures.add("step, 2 nodes: slowest gradient", "ms", gradients);
  figures.add("step, 2 nodes: round over slowest gradient", "%", overheads);
}

void weigh(const Job& job, const std::string& name, Figures& figures) {
  const Report alone = Child([&] { return only_gradients(job); }).wait();
  const double model = alone[1];
  const std::vector<Report> reports = run_mesh(job);
  const double over = reports[0].back() - alone[0];
  figures.add(name + ": model", "MB", {model});
  figures.add(name + ": gradients alone", "MB", {alone[0]});
  figures.add(name + ": first node over that", "MB", {over});
  figures.add(name + ": the same", "models", {over / model});
}

int main(int count, char** words) {
  const Arguments said(count, words, {"--batch", "--rounds", "--json"});
  const auto number = [&](const std::string& name, const std::string& otherwise) {
    return std::stoi(said(name, otherwise));
  };
  Job job;
  add_torch_models();
  job.config.model = options_of_text<ModelOptions>("{kind: cnn}");
  job.config.data.batch = number("--batch", "128");
  job.config.optimizer = options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.01, momentum: 0.9}");
  job.config.compression =
      compression_options({{"policy", "fixed"}, {"ratio", std::to_string(kRatio)}});
  const int rounds = number("--rounds", "20");
  job.config.stop.rounds = static_cast<Round>(rounds);
  fmt::print("{}; topk {} %, medians of {} rounds\n", machine(), 100 * kRatio, rounds - 2);
  Figures figures;
  time_rounds(job, figures);
  job.config.stop.rounds = 6;
  job.nodes = 4;
  job.config.data.batch = 8;
  weigh(job, "memory, cnn, ring of 4", figures);
  job.config.model = options_of_text<ModelOptions>("{kind: mlp, hidden: [4096, 2048]}");
  const Job ring = job;
  job.kind = "parameter_server";
  job.single_server = true;
  for (const std::string policy : {"fixed", "auto"}) {
    const CompressionOptions compression =
        policy == "auto" ? compression_options({{"policy", policy}}) : ring.config.compression;
    for (Job which : {ring, job}) {
      which.config.compression = compression;
      weigh(which,
            fmt::format("memory, large mlp, {}, {}",
                        which.single_server ? "one server of 4" : "ring of 4", policy),
            figures);
    }
  }
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
