// What dzq takes and leaves out, beside every other compressor at the same bytes, and how fast its
// coder is. Times are medians of runs in one process.
//
//   --size N     elements (10^7 for speed, a fifth of it for errors)
//   --runs R     of each time (15)
//   --json FILE  the figures
#include <fmt/format.h>
#if KIMESH_BENCH_ZSTD
#include <lz4.h>
#include <zstd.h>
#endif

#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kimesh/compress/compressor.h"
#include "kimesh/rans/rans.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/residual/residual.h"
#include "tests/settings.h"

namespace kimesh::bench {
namespace {

struct Options {
  std::size_t size = 10'000'000;
  int runs = 15;
  std::string json;
};

struct Source {
  std::string name;
  test::Residual residual;
};

std::vector<Source> sources(std::size_t size) {
  std::vector<Source> all;
  all.push_back({"residual", test::make_residual(size, 1)});
  all.push_back({"gaussian", test::gaussian(size, 2)});
  all.push_back({"laplace", test::laplace(size, 3)});
  return all;
}

template <typename Work>
std::vector<double> seconds(int runs, Work&& work) {
  std::vector<double> all;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    all.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return all;
}

std::vector<double> millions_a_second(std::size_t count, std::vector<double> times) {
  for (double& time : times) time = static_cast<double>(count) / time / 1e6;
  return times;
}

struct Sent {
  Advanced made;
  AlignedBuffer estimate;
  [[nodiscard]] double missing() const { return made.missing_energy / made.wanted_energy; }
};

Sent send(const test::Residual& residual, const Setting& setting) {
  static CompressScratch scratch;
  Sent sent{{}, AlignedBuffer(residual.values.size())};
  auto made =
      advance(residual.values.span(), sent.estimate.span(), residual.pieces, setting, scratch);
  if (made) sent.made = std::move(*made);
  return sent;
}

Setting dzq(std::uint64_t budget, Rounding rounding = Rounding::kNearest) {
  return {make_codec("dzq"), Budget::bytes(budget), 0, rounding};
}

// A message's step, from its head (dzq_message.h).
float step_in(std::span<const std::byte> bytes) {
  const auto code = std::to_integer<int>(bytes[1]) | std::to_integer<int>(bytes[2]) << 8;
  return std::ldexp(static_cast<float>(256 + code % 256), code / 256 - 157);
}

std::vector<double> message_times(const Source& source, const Setting& setting,
                                  const Options& options) {
  const std::span<const float> x = source.residual.values.span();
  CompressScratch scratch;
  AlignedBuffer estimate(x.size());
  std::vector<double> times;
  for (int run = 0; run < options.runs; ++run) {
    std::ranges::fill(estimate.span(), 0.0f);
    times.push_back(seconds(1, [&] {
                      if (!advance(x, estimate.span(), source.residual.pieces, setting, scratch))
                        std::abort();
                    }).front());
  }
  for (double& time : times) time *= 1e3;
  return times;
}

// Times a message that fills a budget, and a message of the step that was found for that budget.
void time_messages(const Source& source, const std::string& name, const Setting& setting,
                   const Options& options, Figures& figures) {
  Setting stepped = setting;
  stepped.budget = Budget::own();
  const float step = step_in(send(source.residual, setting).made.bytes);
  stepped.codec = make_codec("dzq", {{"step", fmt::format("{}", step)}});
  figures.add(name + "message of a step", "ms", message_times(source, stepped, options));
  figures.add(name + "message of a budget", "ms", message_times(source, setting, options));
}

// The coder by itself, and whole messages with it.
void measure_speed(const Source& source, const Options& options, Figures& figures) {
  const std::span<const float> x = source.residual.values.span();
  // A step at which about one element in a hundred is sent.
  Setting setting = dzq(x.size() / 100 * 12 / 10);
  for (int i = 0; i < 6; ++i) {
    const Sent sent = send(source.residual, setting);
    setting.budget = Budget::bytes(std::max<std::uint64_t>(
        30, setting.budget.amount * (x.size() / 100) / std::max<std::uint64_t>(sent.made.kept, 1)));
  }
  const Sent sent = send(source.residual, setting);
  rans::Elements elements;
  for (std::uint32_t j = 0; j < x.size(); ++j) {
    const float value = sent.estimate.span()[j];
    if (value == 0) continue;
    elements.indices.push_back(j);
    const double level = std::abs(value) / step_in(sent.made.bytes);
    elements.marks.push_back(static_cast<std::uint32_t>(level) << 1 | std::signbit(value));
  }
  const std::size_t count = elements.indices.size();
  rans::Scratch scratch;
  std::vector<std::byte> bytes;
  unsigned state_bytes = 0;
  const std::string name = source.name + " 1 %: ";
  figures.add(name + "encode", "M non-zeros/s",
              millions_a_second(count, seconds(options.runs, [&] {
                                  bytes.clear();
                                  state_bytes = rans::encode(elements.indices, elements.marks,
                                                             x.size(), scratch, bytes);
                                })));
  rans::Elements read;
  figures.add(name + "decode", "M non-zeros/s",
              millions_a_second(
                  count, seconds(options.runs, [&] {
                    const rans::DecodeParameters parameters{count, x.size(), true, state_bytes};
                    if (!rans::decode(bytes, parameters, read)) std::abort();
                  })));
  AlignedBuffer far(x.size());
  figures.add(name + "apply (decode, values, add)", "M non-zeros/s",
              millions_a_second(count, seconds(options.runs, [&] {
                                  if (!apply(sent.made.form, sent.made.bytes, far.span()))
                                    std::abort();
                                })));
  time_messages(source, name, setting, options, figures);
}

// Times messages of the size that shards of small models have.
void measure_small_messages(const Options& options, Figures& figures) {
  constexpr std::size_t kElements = 230'000;
  const Source source{"", test::make_residual(kElements, 1)};
  for (const double bits : {0.1, 0.3, 1.0}) {
    const std::string name = fmt::format("{} elements, {} bits: ", kElements, bits);
    time_messages(source, name, dzq(budget_of_bits(bits, kElements)), options, figures);
  }
}

// Bytes until so little is missing, found by bisection.
std::uint64_t bytes_until(const test::Residual& residual, double missing, Setting setting) {
  double low = 30, high = 8 * static_cast<double>(residual.values.size());
  while (high / low > 1.003) {
    const double middle = std::sqrt(low * high);
    setting.budget = Budget::bytes(static_cast<std::uint64_t>(middle));
    (send(residual, setting).missing() > missing ? low : high) = middle;
  }
  return static_cast<std::uint64_t>(high);
}

void measure_sizes(const Source& source, Figures& figures) {
  constexpr double kMissing = 0.175;
  Setting topk = setting_of("topk");
  topk.allocation = Allocation::kGlobal;
  const auto reference = static_cast<double>(bytes_until(source.residual, kMissing, topk));
  for (const Rounding rounding : {Rounding::kNearest, Rounding::kTowardsZero}) {
    const auto bytes =
        static_cast<double>(bytes_until(source.residual, kMissing, dzq(0, rounding)));
    figures.add(source.name + ", bytes of topk float32 + u32 over dzq, " +
                    (rounding == Rounding::kNearest ? "one hop" : "inner edge"),
                "x", {reference / bytes});
  }
}

struct Rival {
  std::string name;
  double missing;
};

// The one that leaves out least of those that take at most so many bytes.
Rival best_rival(const test::Residual& residual, std::uint64_t budget) {
  Rival best{"nothing", 1};
  const auto consider = [&](const std::string& name, Setting setting) {
    setting.rounding = Rounding::kNearest;
    const Sent sent = send(residual, setting);
    if (sent.made.bytes.size() <= budget && sent.missing() < best.missing)
      best = {name, sent.missing()};
  };
  const char* const kValues[] = {"float32", "float16", "bfloat16", "int4"};
  for (const char* values : kValues) {
    Setting topk =
        setting_of("topk", {{"values", values}, {"indices", "coded"}}, Budget::bytes(budget));
    topk.allocation = Allocation::kGlobal;
    consider(fmt::format("topk {} coded", values), topk);
  }
  for (const char* dense : {"sign", "int4", "int8"}) consider(dense, setting_of(dense));
  consider("bfloat16", setting_of("identity", {{"values", "bfloat16"}}));
  return best;
}

void measure_errors(const Source& source, Figures& figures) {
  // Dense blocks have one size each: sign 1.07, int4 4.25, int8 8.0625 bits.
  for (const double bits : {0.01, 0.1, 1.0, 1.07, 2.0, 4.25, 8.0, 8.07}) {
    const std::uint64_t budget = budget_of_bits(bits, source.residual.values.size());
    const double missing = send(source.residual, dzq(budget)).missing();
    const Rival rival = best_rival(source.residual, budget);
    const std::string name = fmt::format("{} at {} bits, missing", source.name, bits);
    figures.add(name, "of the energy", {missing});
    figures.add(fmt::format("{}, over {}'s", name, rival.name), "x", {missing / rival.missing});
  }
}

#if KIMESH_BENCH_ZSTD
void measure_lossless(const Source& source, Figures& figures) {
  const std::span<const float> x = source.residual.values.span();
  const std::size_t bytes = x.size_bytes();
  std::vector<char> out(
      std::max(ZSTD_compressBound(bytes),
               static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(bytes)))));
  std::size_t size = 0;
  const auto speed = [&](std::vector<double> times) { return millions_a_second(bytes, times); };
  for (const int level : {1, 9}) {
    const std::string name = fmt::format("{}, zstd -{}: ", source.name, level);
    const auto times =
        seconds(3, [&] { size = ZSTD_compress(out.data(), out.size(), x.data(), bytes, level); });
    figures.add(name + "size", "x", {static_cast<double>(size) / static_cast<double>(bytes)});
    figures.add(name + "speed", "MB/s", speed(times));
  }
  const auto times = seconds(3, [&] {
    size = static_cast<std::size_t>(LZ4_compress_default(reinterpret_cast<const char*>(x.data()),
                                                         out.data(), static_cast<int>(bytes),
                                                         static_cast<int>(out.size())));
  });
  figures.add(source.name + ", lz4: size", "x",
              {static_cast<double>(size) / static_cast<double>(bytes)});
  figures.add(source.name + ", lz4: speed", "MB/s", speed(times));
}
#else
void measure_lossless(const Source&, Figures&) {
  fmt::print("  zstd and lz4 are not measured: this build found no headers of theirs\n");
}
#endif

Options parse(int count, char** words) {
  const Arguments said(count, words, {"--size", "--runs", "--json"});
  Options options;
  options.size = std::stoul(said("--size", std::to_string(options.size)));
  options.runs = std::stoi(said("--runs", std::to_string(options.runs)));
  options.json = said("--json");
  return options;
}

int run(const Options& options) {
  Figures figures;
  fmt::print("{}\n", machine());
  for (const Source& source : sources(options.size)) measure_speed(source, options, figures);
  measure_small_messages(options, figures);
  for (const Source& source : sources(options.size / 5)) {
    measure_sizes(source, figures);
    measure_errors(source, figures);
    if (source.name == "residual") measure_lossless(source, figures);
  }
  return figures.write(options.json) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int argc, char** argv) {
  return kimesh::bench::run(kimesh::bench::parse(argc, argv));
}
