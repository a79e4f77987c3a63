// What the fused step of EF21 takes, beside a read pass over the same two vectors in the same run:
// the ratio holds across machines better than the time. Cases run in random order and a ratio is
// one of medians; every step finds the same estimate.
//
//   --size N     elements (10^7)
//   --rounds R   of each case (31)
//   --only WORD  cases whose name has it, and what they are compared with
//   --json FILE  the figures
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kimesh/compress/compressor.h"
#include "kimesh/kernels/collect.h"
#include "kimesh/kernels/simd.h"
#include "kimesh/util/check.h"
#include "kimesh/util/random.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/residual/residual.h"
#include "tests/settings.h"

namespace kimesh::bench {
namespace {

// A difference of the wanted kind, as target − estimate.
struct Input {
  std::string name;
  AlignedBuffer target, estimate, at_first;
  std::vector<Piece> pieces;
};

Input make_input(const std::string& name, const test::Residual& residual) {
  const std::size_t size = residual.values.size();
  Input input{name, AlignedBuffer(size), AlignedBuffer(size), AlignedBuffer(size), {}};
  input.pieces = residual.pieces;
  Random random(1, 1, 0, Purpose::kTest);
  for (std::size_t j = 0; j < size; ++j) {
    const float drawn = residual.values.span()[j];
    const float difference = std::isfinite(drawn) ? drawn : 0;
    input.estimate.span()[j] = difference * (static_cast<float>(random.uniform()) - 0.5f);
    input.target.span()[j] = input.estimate.span()[j] + difference;
  }
  std::ranges::copy(input.estimate.span(), input.at_first.span().begin());
  return input;
}

// Compiled for several instruction sets, so that nobody wins against a slow reader.
__attribute__((target_clones("avx512f", "avx2", "default"))) float read_pass(const float* x,
                                                                             const float* y,
                                                                             std::size_t size) {
  float sums[128] = {};
  for (std::size_t i = 0; i + 64 <= size; i += 64)
    for (std::size_t j = 0; j < 64; ++j) {
      sums[j] += x[i + j];
      sums[64 + j] += y[i + j];
    }
  return std::accumulate(std::begin(sums), std::end(sums), 0.0f);
}

// One write to every cache line that has an element of `indices`.
void write_pass(std::span<const std::uint32_t> lines, std::span<float> x) {
  constexpr std::size_t kLine = 16;
  for (const std::uint32_t line : lines) x[line * kLine] += 1;
}

struct Case {
  std::string name, against;
  std::function<void()> run;
  std::function<void()> restore = [] {};
  std::vector<double> seconds{};
};

// Of this thread: what others do on the machine disturbs it less than the clock on the wall.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

volatile float sink;  // what a compiler must not leave out

void measure(std::vector<Case>& cases, std::size_t rounds) {
  Random random(1, 2, 0, Purpose::kTest);
  std::vector<Case*> order;
  for (Case& one : cases) order.push_back(&one);
  for (std::size_t r = 0; r <= rounds; ++r) {
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    for (Case* one : order) {
      const double begin = processor_seconds();
      one->run();
      const double end = processor_seconds();
      if (r > 0) one->seconds.push_back(end - begin);  // the first warms up
      one->restore();
    }
  }
}

void report(const std::string& input, const std::vector<Case>& cases, Figures& figures) {
  for (const Case& one : cases) {
    std::vector<double> milliseconds, ratios;
    for (const double s : one.seconds) milliseconds.push_back(s * 1e3);
    figures.add(fmt::format("{}: {}", input, one.name), "ms", milliseconds);
    const auto other = std::ranges::find(cases, one.against, &Case::name);
    if (other == cases.end()) continue;
    const double base = median(other->seconds);
    for (const double s : one.seconds) ratios.push_back(s / base);
    figures.add(fmt::format("{}: {} / {}", input, one.name, one.against), "x", ratios);
  }
}

std::vector<std::uint32_t> lines_of(std::span<const std::uint32_t> indices) {
  constexpr std::uint32_t kLine = 16;
  std::vector<std::uint32_t> lines;
  for (const std::uint32_t index : indices)
    if (lines.empty() || lines.back() != index / kLine) lines.push_back(index / kLine);
  return lines;
}

// The straightforward way: the difference in memory, std::nth_element, a scan, a scatter.
void nth_element_step(Input& input, std::size_t keep, std::vector<float>& difference,
                      std::vector<float>& magnitudes) {
  const auto t = input.target.span(), e = input.estimate.span();
  for (std::size_t j = 0; j < t.size(); ++j) {
    difference[j] = t[j] - e[j];
    magnitudes[j] = std::abs(difference[j]);
  }
  const auto kth = magnitudes.begin() + static_cast<std::ptrdiff_t>(keep - 1);
  std::nth_element(magnitudes.begin(), kth, magnitudes.end(), std::greater<>());
  for (std::size_t j = 0; j < t.size(); ++j)
    if (std::abs(difference[j]) >= *kth) e[j] += difference[j];
}

struct Options {
  std::size_t rounds = 0;
  std::string only;
};

void bench_input(Input& input, const Options& options, Figures& figures) {
  const std::size_t size = input.target.size();
  const std::vector<Piece> whole{{0, size}};
  CompressScratch scratch;
  const auto restore = [&] {
    std::ranges::copy(input.at_first.span(), input.estimate.span().begin());
  };
  const auto step = [&](std::size_t keep, Allocation allocation, bool curve) {
    return [&, keep, allocation, curve] {
      const bool proportional = allocation == Allocation::kProportional;
      Setting setting = topk_setting(keep);
      setting.allocation = allocation;
      auto made = advance(input.target.span(), input.estimate.span(),
                          proportional ? whole : input.pieces, setting, scratch, curve);
      sink = static_cast<float>(made->kept);
    };
  };
  const Setting one_percent = topk_setting(size / 100);
  const auto message =
      advance(input.target.span(), input.estimate.span(), whole, one_percent, scratch);
  restore();
  const std::vector<std::uint32_t> lines = lines_of(scratch.entries.indices);
  std::vector<float> difference(size), magnitudes(size);
  kernels::Entries entries;
  const std::string read = "read pass", write = "write pass over the lines";
  std::vector<Case> cases;
  cases.push_back({read, "", [&] {
                     sink =
                         read_pass(input.target.span().data(), input.estimate.span().data(), size);
                   }});
  cases.push_back({"collect 1 %", read, [&] {
                     entries.clear();
                     (void)kernels::collect_topk(input.target.span(), input.estimate.span(),
                                                 size / 100, 0, entries, scratch.select);
                   }});
  const auto proportional = Allocation::kProportional, global = Allocation::kGlobal;
  cases.push_back({"step, topk 1 %", read, step(size / 100, proportional, false), restore});
  cases.push_back({"step, topk 0.1 %", read, step(size / 1000, proportional, false), restore});
  cases.push_back({"step, topk 1 %, all layers", read, step(size / 100, global, false), restore});
  cases.push_back({"step with curves, topk 1 %, one layer", read,
                   step(size / 100, proportional, true), restore});
  cases.push_back(
      {"step with curves, topk 1 %, all layers", read, step(size / 100, global, true), restore});
  cases.push_back({write, "", [&] { write_pass(lines, input.estimate.span()); }, restore});
  cases.push_back({"apply 1 %", write,
                   [&] { (void)apply(message->form, message->bytes, input.estimate.span()); },
                   restore});
  std::erase_if(cases, [&](const Case& one) {
    return !one.against.empty() && one.name.find(options.only) == std::string::npos;
  });
  measure(cases, options.rounds);
  if (!options.only.empty()) return report(input.name, cases, figures);
  std::vector<Case> naive;
  naive.push_back({"std::nth_element step, topk 1 %", "",
                   [&] { nth_element_step(input, size / 100, difference, magnitudes); }, restore});
  measure(naive, 3);
  naive[0].against = read;
  cases.push_back(std::move(naive[0]));
  report(input.name, cases, figures);
}

// Zeros that take no memory until they are written.
class SparseMapping {
 public:
  explicit SparseMapping(std::size_t size) : size_(size) {
    data_ = mmap(nullptr, size * sizeof(float), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    KIMESH_CHECK(data_ != MAP_FAILED, "addresses for a mapping that takes no memory");
  }
  ~SparseMapping() { munmap(data_, size_ * sizeof(float)); }
  SparseMapping(const SparseMapping&) = delete;
  SparseMapping& operator=(const SparseMapping&) = delete;
  [[nodiscard]] std::span<float> span() { return {static_cast<float*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

// As many elements as a message may have: once, for what does not fit 32 bits somewhere.
void bench_largest(Figures& figures) {
  constexpr std::size_t kSize = std::size_t{1} << 31, kLoud = 3001, kStride = kSize / kLoud;
  Setting topk = topk_setting(kLoud - 1);
  topk.allocation = Allocation::kGlobal;
  const Setting dzq = setting_of("dzq", {}, Budget::bytes(16 << 10));
  for (const Setting& setting : {topk, dzq}) {
    SparseMapping target(kSize), estimate(kSize), far(kSize);
    for (std::size_t i = 0; i < kLoud; ++i)
      target.span()[kSize - 1 - i * kStride] = 1 + static_cast<float>(i);
    CompressScratch scratch;
    const std::vector<Piece> pieces{{0, kSize / 2 + 1}, {kSize / 2 + 1, kSize / 2 - 1}};
    const double begin = processor_seconds();
    auto made = advance(target.span(), estimate.span(), pieces, setting, scratch, true);
    const double end = processor_seconds();
    KIMESH_CHECK(made.ok() && made->kept >= kLoud - 1, "all but the smallest are sent");
    KIMESH_CHECK(made->missing_energy <= 1e-4 * made->wanted_energy, "nearly whole");
    KIMESH_CHECK(made->curve[1].size == kSize / 2 - 1, "a curve of every piece");
    KIMESH_CHECK(apply(made->form, made->bytes, far.span()).ok(), "the far side takes them");
    for (std::size_t i = 0; i < kLoud; ++i) {
      const std::size_t j = kSize - 1 - i * kStride;
      KIMESH_CHECK(far.span()[j] == estimate.span()[j], "each at its place");
    }
    figures.add(
        fmt::format("2^31 elements, nearly all 0: {} with curves", setting.codec->kind_name()), "s",
        {end - begin});
  }
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  using namespace kimesh;
  using namespace kimesh::bench;
  const Arguments said(count, words, {"--size", "--rounds", "--only", "--json"});
  const auto size = std::stoul(said("--size", "10000000"));
  const Options options{std::stoul(said("--rounds", "31")), said("--only")};
  fmt::print("{}; {} elements; {}\n", machine(), size, kernels::simd_target());
  Figures figures;
  {
    Input input = make_input("gaussian", test::gaussian(size, 1));
    bench_input(input, options, figures);
  }
  {
    Input input = make_input("heavy-tailed", test::heavy_tailed(size, 1));
    bench_input(input, options, figures);
  }
  {
    Input input = make_input("residual", test::make_residual(size, 1));
    bench_input(input, options, figures);
  }
  if (options.only.empty()) bench_largest(figures);
  return figures.write(said("--json")) ? 0 : 1;
}
