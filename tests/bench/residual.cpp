// Trains a transformer of the kind that configs/shakespeare-transformer.yaml holds over one EF21
// channel (one worker, one owner, the exact largest 1 % a round) and writes the statistics of
// target − estimate before the last message: what make_residual is held to. The tensor itself is
// written on demand only.
//
// tests/residual/captured.json is of --layers 4 --heads 6 --embedding 384: 7 M parameters, the
// config's own AdamW.
//
//   bench_residual --json FILE [--config FILE] [--data FILE] [--rounds 400] [--ratio 0.01]
//                  [--layers N] [--embedding N] [--heads N] [--tokens character|word]
//                  [--momentum M --lr X]   sgd in place of the config's optimizer
//                  [--values FILE --pieces FILE]   float32; offset and size of each layer
#include "tests/residual/residual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>

#include "kimesh/config/options_of_text.h"
#include "kimesh/optimizer/optimizer.h"
#include "kimesh/run/run_config.h"
#include "kimesh/train/torch_models.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/check.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/bench/kind_keys.h"
#include "tests/residual/statistics.h"

namespace kimesh::test {
namespace {

struct Wanted {
  RunConfig config;
  unsigned rounds = 400;
  double ratio = 0.01;
};

// Both ends of the channel in one: what the owner has of what the worker wants it to have.
struct Channel {
  explicit Channel(std::size_t size) : estimate(size), difference(size) {}

  void want(std::span<const float> target) {
    const std::span<float> d = difference.span();
    std::ranges::transform(target, estimate.span(), d.begin(), std::minus<>());
  }

  // Sends the largest, exactly.
  void send(double ratio) {
    const std::span<const float> d = difference.span();
    const auto keep = static_cast<std::ptrdiff_t>(ratio * static_cast<double>(d.size()));
    order.resize(d.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
      return std::abs(d[a]) > std::abs(d[b]);
    };
    std::nth_element(order.begin(), order.begin() + keep, order.end(), larger);
    order.resize(static_cast<std::size_t>(keep));
    for (const std::uint32_t j : order) estimate.span()[j] += d[j];
  }

  AlignedBuffer estimate, difference;
  std::vector<std::uint32_t> order;
};

struct Captured {
  Residual residual;
  Layout layout;
  double loss = 0;
};

Captured capture(const Wanted& wanted) {
  const auto data = prepare_training_data(wanted.config, 1, {});
  if (!data) fmt::print(stderr, "{}\n", data.error().message);
  KIMESH_CHECK(data, "the text can be read");
  const auto trainer = make_trainer(wanted.config, *data, 0);
  KIMESH_CHECK(trainer, "the text has samples");
  Captured captured;
  captured.layout = (*trainer)->layout();
  const std::size_t size = captured.layout.size();
  const OptimizerOptions& optimizer = wanted.config.optimizer;
  AlignedBuffer parameters(size), gradient(size), velocity(optimizer.keeps_velocity() ? size : 0);
  Channel channel(size);
  kernels::Memory& host = kernels::host_memory();
  auto owner = ShardOptimizer::create(optimizer, host, size);
  const kernels::MemorySpan w(parameters.span()), g(gradient.span()), v(velocity.span());
  (*trainer)->initialise(parameters.span());
  (*trainer)->bind(parameters.span(), gradient.span());
  for (unsigned round = 1; round <= wanted.rounds; ++round) {
    const auto numbers = (*trainer)->gradient(round);
    KIMESH_CHECK(numbers, "training does not diverge");
    prepare_gradient(optimizer, host, {w, g, v});
    channel.want(velocity.empty() ? gradient.span() : velocity.span());
    if (round < wanted.rounds) channel.send(wanted.ratio);
    owner->step(round, w, kernels::ConstMemorySpan(std::as_const(channel.estimate).span()));
    captured.loss = numbers->loss;
    if (round % 20 == 0) fmt::print("round {}, loss {:.3f}\n", round, numbers->loss);
  }
  captured.residual.values = std::move(channel.difference);
  for (const LayoutLayer& layer : captured.layout.layers)
    captured.residual.pieces.push_back({layer.offset, layer.size});
  return captured;
}

nlohmann::json points_json(std::span<const AtShare> points) {
  nlohmann::json json = nlohmann::json::array();
  for (const AtShare& point : points) json.push_back({point.share, point.value});
  return json;
}

// Of a density: bits with one table, with a table for each neighbourhood, and of random indices.
nlohmann::json clustering_json(std::span<const Clustering> all) {
  nlohmann::json json = nlohmann::json::array();
  for (const Clustering& at : all)
    json.push_back({at.density, at.gap_bits, at.gap_bits_nearby, at.gap_bits_uniform});
  return json;
}

nlohmann::json to_json(const ResidualStatistics& statistics) {
  return {{"rms", statistics.rms},
          {"zeros", statistics.zeros},
          {"missing_energy", points_json(statistics.missing_energy)},
          {"quantiles", points_json(statistics.quantiles)},
          {"piece_energy", statistics.piece_energy},
          {"clustering", clustering_json(statistics.clustering)}};
}

Wanted read_wanted(const bench::Arguments& said) {
  add_torch_models();
  Loaded<RunConfig> config =
      load_config(said("--config", KIMESH_SOURCE_DIR "/configs/shakespeare-transformer.yaml"));
  KIMESH_CHECK(config.problems.empty(), "the config can be read");
  Wanted wanted{std::move(config.value)};
  bench::set(*wanted.config.model.kind, {{"layers", said("--layers", "")},
                                         {"heads", said("--heads", "")},
                                         {"embedding", said("--embedding", "")}});
  bench::set(*wanted.config.data.kind,
             {{"path", said("--data", "")}, {"tokens", said("--tokens", "")}});
  wanted.rounds = static_cast<unsigned>(std::stoul(said("--rounds", "400")));
  wanted.ratio = std::stod(said("--ratio", "0.01"));
  if (const std::string momentum = said("--momentum", ""); !momentum.empty()) {
    wanted.config.optimizer = options_of_text<OptimizerOptions>(
        fmt::format("{{kind: sgd, lr: {}, momentum: {}}}", said("--lr", "0.1"), momentum));
  }
  return wanted;
}

void write_tensor(const Captured& captured, const std::string& values, const std::string& pieces) {
  if (values.empty()) return;
  const auto bytes = std::as_bytes(captured.residual.values.span());
  std::ofstream(values, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::ofstream out(pieces);
  for (const Piece& piece : captured.residual.pieces)
    out << piece.offset << " " << piece.size << "\n";
}

// One line for each figure, so that a test needs no parser. False: the file could not be written.
bool write_json(const Wanted& wanted, const Captured& captured, const std::string& path) {
  const Residual& residual = captured.residual;
  nlohmann::json json = to_json(measure_residual(residual.values.span(), residual.pieces));
  json["elements"] = residual.values.size();
  json["loss"] = captured.loss;
  json["rounds"] = wanted.rounds;
  json["ratio"] = wanted.ratio;
  json["momentum"] = wanted.config.optimizer.kind->at_workers().momentum;
  for (const LayoutLayer& layer : captured.layout.layers)
    json["layers"].push_back({layer.name, layer.shape});
  std::ofstream out(path);
  std::string before = "{\n";
  for (const auto& [key, value] : json.items()) {
    out << before << " \"" << key << "\": " << value;
    before = ",\n";
  }
  out << "\n}\n";
  return static_cast<bool>(out.flush());
}

}  // namespace
}  // namespace kimesh::test

int main(int count, char** words) {
  using namespace kimesh::test;
  const kimesh::bench::Arguments said(
      count, words,
      {"--config", "--layers", "--heads", "--embedding", "--data", "--tokens", "--rounds",
       "--ratio", "--momentum", "--lr", "--values", "--pieces", "--json"});
  const Wanted wanted = read_wanted(said);
  const Captured captured = capture(wanted);
  write_tensor(captured, said("--values"), said("--pieces"));
  return write_json(wanted, captured, said("--json")) ? 0 : 1;
}
