// What both sides of `./dev bench mesh` start from, as kimesh sees it: the samples of a config's
// data, the first point of its model, and which samples each node takes in each round.
//
//   bench_mesh_inputs --config FILE --nodes N --rounds R --folder FOLDER
//
// FOLDER must be there. It gets first.safetensors, train.bin and test.bin (pixels as u8 or tokens
// as u16, a sample behind another), train_labels.bin and test_labels.bin (u16), batches.bin (u32
// [node][round][batch], numbers of training samples) and inputs.json, which tells the shapes.
#include <numeric>

#include "kimesh/data/split.h"
#include "kimesh/model_files/model_files.h"
#include "kimesh/train/trainer.h"
#include "tests/bench/arguments.h"
#include "tests/bench/timed_run.h"

namespace kimesh::bench {
namespace {

template <typename T>
void write_numbers(const std::string& path, const std::vector<T>& numbers) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(T)));
  if (!out.flush()) {
    fmt::print(stderr, "{} cannot be written\n", path);
    std::exit(1);
  }
}

std::vector<std::uint32_t> all_of(const SampleClasses& classes) {
  std::vector<std::uint32_t> samples(classes.samples());
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

void write_samples(const Dataset& data, const std::string& stem) {
  if (data.shape.kind == SampleShape::Kind::kTokens)
    write_numbers(stem + ".bin", data.tokens);
  else
    write_numbers(stem + ".bin", data.pixels);
  write_numbers(stem + "_labels.bin", data.labels);
}

std::vector<std::uint32_t> batches(const RunConfig& config, const TrainingData& data,
                                   Round rounds) {
  std::vector<std::uint32_t> numbers;
  for (NodeIndex node = 0; node < data.parts.size(); ++node)
    for (Round round = 0; round < rounds; ++round)
      for (const std::uint32_t sample :
           batch_samples(data.parts[node], config.data.batch, round, node, config.seed))
        numbers.push_back(sample);
  return numbers;
}

nlohmann::json shapes(const Dataset& train, std::size_t tests) {
  const SampleShape& shape = train.shape;
  return {{"tokens", shape.kind == SampleShape::Kind::kTokens},
          {"channels", shape.channels},
          {"height", shape.height},
          {"width", shape.width},
          {"length", shape.length},
          {"classes", shape.classes},
          {"scale", train.scale},
          {"offset", train.offset},
          {"train", train.samples()},
          {"test", tests}};
}

int main(int count, char** words) {
  const Arguments said(count, words, {"--folder", "--config", "--nodes", "--rounds"});
  const std::string folder = said("--folder");
  if (folder.empty() || said("--config").empty() || said("--nodes").empty() ||
      said("--rounds").empty()) {
    fmt::print(stderr, "give --config FILE --nodes N --rounds R --folder FOLDER\n");
    return 2;
  }
  const RunConfig config = loaded_or_exit(load_config(said("--config")));
  const std::size_t nodes = std::stoul(said("--nodes"));
  const auto rounds = static_cast<Round>(std::stoul(said("--rounds")));
  const TrainingData data = or_exit(prepare_training_data(config, nodes, {}));
  const auto objective = or_exit(make_trainer(config, data, 0));
  const Layout& layout = objective->layout();
  std::vector<float> first(layout.size());
  objective->initialise(first);
  if (const Status written = write_model(folder + "/first.safetensors", layout, first); !written) {
    fmt::print(stderr, "{}\n", written.error().message);
    return 1;
  }
  const Dataset train = or_exit(data.source->read_train(all_of(data.source->train())));
  const Dataset test = or_exit(data.source->read_test(all_of(data.source->test())));
  write_samples(train, folder + "/train");
  write_samples(test, folder + "/test");
  write_numbers(folder + "/batches.bin", batches(config, data, rounds));
  nlohmann::json json = shapes(train, test.samples());
  json["nodes"] = nodes;
  json["rounds"] = rounds;
  json["batch"] = config.data.batch;
  std::ofstream out(folder + "/inputs.json");
  out << json.dump(2) << "\n";
  return out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
