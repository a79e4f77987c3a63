// What each compressor's messages cost and leave out: bits per element, error, and the time that
// both ends take beside a read pass over the same two vectors in the same run.
#include <chrono>
#include <cmath>

#include "kimesh/compress/compressor.h"
#include "kimesh/kernels/vector_math.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/residual/residual.h"
#include "tests/settings.h"

namespace kimesh {
namespace {

constexpr int kRuns = 5;

struct Format {
  const char* name;
  Setting setting;
};

Setting sparse(const char* codec, const KeyTexts& keys = {}) {
  Setting setting = setting_of(codec, keys);
  setting.allocation = Allocation::kGlobal;
  setting.rounding = Rounding::kNearest;
  return setting;
}

Setting topk(const char* values, const char* indices) {
  return sparse("topk", {{"values", values}, {"indices", indices}});
}

Setting dense(const char* codec, const KeyTexts& keys = {}) {
  Setting setting = setting_of(codec, keys);
  setting.rounding = Rounding::kNearest;
  return setting;
}

// Each is given a budget, in bits per element.
const Format kSparse[] = {
    {"topk float32 raw", topk("float32", "raw")},
    {"topk float16 packed", topk("float16", "packed")},
    {"topk float16 coded", topk("float16", "coded")},
    {"topk int4 packed", topk("int4", "packed")},
    {"topk int4 coded", topk("int4", "coded")},
    {"dgc float32 raw", sparse("dgc")},
    {"redsync float32 raw", sparse("redsync")},
    {"randk float32", sparse("randk")},
    {"dzq", dense("dzq")},
};
const Format kDense[] = {
    {"sign", dense("sign")},
    {"sign2", dense("sign2")},
    {"int4", dense("int4")},
    {"int8", dense("int8")},
    {"bfloat16", dense("identity", {{"values", "bfloat16"}})},
};
constexpr double kBits[] = {0.01, 0.1, 1, 4.25};

template <typename Work>
double milliseconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double read_pass(std::span<const float> x, std::span<const float> y) {
  float sums[64] = {};
  const double time = milliseconds([&] {
    for (std::size_t i = 0; i + 64 <= x.size(); i += 64)
      for (std::size_t j = 0; j < 64; ++j) sums[j] += x[i + j] + y[i + j];
  });
  volatile float keep = sums[0];
  static_cast<void>(keep);
  return time;
}

void measure(const std::string& name, const Setting& setting, const test::Residual& input,
             bench::Figures& figures) {
  const std::span<const float> target = input.values.span();
  AlignedBuffer near(target.size()), far(target.size());
  CompressScratch scratch;
  std::vector<double> bits, error, encode, decode;
  for (int run = 0; run < kRuns; ++run) {
    std::ranges::fill(near.span(), 0.0f);
    std::ranges::fill(far.span(), 0.0f);
    const double pass = read_pass(target, near.span());
    std::optional<Advanced> made;
    encode.push_back(milliseconds([&] {
                       made = std::move(
                           advance(target, near.span(), input.pieces, setting, scratch).value());
                     }) /
                     pass);
    decode.push_back(milliseconds([&] {
                       static_cast<void>(apply(made->form, made->bytes, far.span()).value());
                     }) /
                     pass);
    bits.push_back(8 * static_cast<double>(made->bytes.size()) /
                   static_cast<double>(target.size()));
    error.push_back(made->missing_energy / made->wanted_energy);
  }
  figures.add(name + ", size", "bits/element", bits);
  figures.add(name + ", left out", "of the energy", error);
  figures.add(name + ", advance", "x read pass", encode);
  figures.add(name + ", apply", "x read pass", decode);
}

int run(int count, char** words) {
  const bench::Arguments said(count, words, {"--size", "--json"});
  const auto size = static_cast<std::size_t>(std::stod(said("--size", "1e7")));
  const std::string path = said("--json");
  bench::Figures figures;
  const std::pair<const char*, test::Residual> inputs[] = {
      {"gaussian", test::gaussian(size, 1)},
      {"laplace", test::laplace(size, 1)},
      {"residual", test::make_residual(size, 1)}};
  for (const auto& [kind, input] : inputs) {
    for (const double bits : kBits)
      for (const Format& format : kSparse) {
        Setting setting = format.setting;
        setting.budget = Budget::bytes(budget_of_bits(bits, size));
        measure(fmt::format("{}, {} b, {}", kind, bits, format.name), setting, input, figures);
      }
    for (const Format& format : kDense)
      measure(fmt::format("{}, {}", kind, format.name), format.setting, input, figures);
  }
  return figures.write(path) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh

int main(int count, char** words) {
  return kimesh::run(count, words);
}
