// What the CUDA twins take on this machine's GPU, beside a pass that only reads both vectors. Says
// so and ends where there is no GPU. The times are those that a caller waits, copies to the host
// among them.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "kimesh/kernels/memory.h"

namespace kimesh {
namespace {

using kernels::BlockFormat;
using kernels::Memory;
using kernels::MemoryBuffer;

constexpr std::size_t kSize = 10'000'000;
constexpr int kRuns = 15;

MemoryBuffer held(Memory& device, const std::vector<float>& x) {
  auto buffer = device.allocate(x.size());
  KIMESH_CHECK(buffer.ok(), buffer.error().message);
  device.upload(x, buffer->floats());
  return std::move(*buffer);
}

struct Ignores final : kernels::MagnitudeObserver {
  void observe(const kernels::PartMagnitudes&) override {}
};

class Bench {
 public:
  explicit Bench(Memory& device) : device_(device) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(kSize);
    for (float& value : x) value = normal(random);
    target_ = held(device, x);
    for (float& value : x) value = 0.9f * value + 0.1f * normal(random);
    start_ = held(device, x);
    estimate_ = held(device, x);
  }

  void run() {
    using F = kernels::MemorySpan;
    const F t = target_.floats(), e = estimate_.floats();
    kernels::Entries entries;
    const std::vector<kernels::Quota> hundredth = {{0, kSize, kSize / 100}};
    kernels::SelectScratch scratch;
    Ignores ignores;
    const kernels::DifferencePass pass{t, e, hundredth, scratch, true};
    const kernels::DifferencePass observed{t, e, hundredth, scratch, false, &ignores};
    say("read both (energies)", [&] { (void)(device_.energy(t).ok() && device_.energy(e).ok()); });
    say("topk 1 %", [&] { (void)device_.select_largest(pass, 0, entries).ok(); });
    say("threshold, about 1 %", [&] { (void)device_.select_reaching(pass, 0.36f, entries).ok(); });
    say("magnitudes", [&] { (void)device_.observe_magnitudes(observed).ok(); });
    for (const BlockFormat blocks :
         {BlockFormat::kBfloat16, BlockFormat::kSign, BlockFormat::kInt8, BlockFormat::kInt4}) {
      std::vector<std::byte> bytes(kernels::quantised_bytes(blocks, kSize));
      const std::string name = "blocks " + std::to_string(static_cast<int>(blocks));
      say(name.c_str(),
          [&] { (void)device_.quantise(blocks, kernels::Rounding::kNearest, t, e, bytes).ok(); });
    }
    say("digest", [&] { (void)device_.digest(e).ok(); });
    say("momentum", [&] { device_.momentum(0.9f, t, e); });
  }

 private:
  void say(const char* name, const std::function<void()>& work) {
    std::vector<double> seconds;
    for (int run = 0; run < kRuns; ++run) {
      device_.copy(start_.floats(), estimate_.floats());
      KIMESH_CHECK(device_.finish().ok(), "the device works");
      const auto begin = std::chrono::steady_clock::now();
      work();
      KIMESH_CHECK(device_.finish().ok(), "the device works");
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::ranges::sort(seconds);
    const double median = seconds[seconds.size() / 2];
    if (read_ == 0) read_ = median;
    std::printf("%-22s %8.3f ms, %5.2f x the read pass\n", name, 1e3 * median, median / read_);
  }

  Memory& device_;
  MemoryBuffer target_, start_, estimate_;
  double read_ = 0;
};

}  // namespace
}  // namespace kimesh

int main() {
  auto device = kimesh::kernels::open_cuda();
  if (!device) {
    std::printf("%s\n", device.error().message.c_str());
    return 0;
  }
  std::printf("%s, %zu elements, medians of %d runs\n", (*device)->name().c_str(), kimesh::kSize,
              kimesh::kRuns);
  kimesh::Bench(**device).run();
  return 0;
}
