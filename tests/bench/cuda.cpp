// What the CUDA twins take on this machine's GPU, beside one thread of its CPU and beside a pass
// that only reads both vectors. Says so and ends where there is no GPU. The times are those that a
// caller waits, copies to the host among them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/kernels/memory.h"
#include "tests/bench/arguments.h"

namespace kimesh {
namespace {

using kernels::BlockFormat;
using kernels::Memory;
using kernels::MemoryBuffer;

constexpr int kRuns = 15;

MemoryBuffer held(Memory& memory, const std::vector<float>& x) {
  auto buffer = memory.allocate(x.size());
  KIMESH_CHECK(buffer.ok(), buffer.error().message);
  memory.upload(x, buffer->floats());
  return std::move(*buffer);
}

struct Ignores final : kernels::MagnitudeObserver {
  void observe(const kernels::PartMagnitudes&) override {}
};

struct Timing {
  std::string name;
  double seconds;  // the median
};

// One memory, and vectors of `size` in it.
class Bench {
 public:
  Bench(Memory& memory, std::size_t size) : memory_(memory), size_(size), host_(size) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : host_) value = normal(random);
    target_ = held(memory, host_);
    for (float& value : host_) value = 0.9f * value + 0.1f * normal(random);
    start_ = held(memory, host_);
    estimate_ = held(memory, host_);
  }

  std::vector<Timing> run() {
    using F = kernels::MemorySpan;
    const F t = target_.floats(), e = estimate_.floats();
    kernels::Entries entries;
    const std::vector<kernels::Quota> hundredth = {
        {0, size_, static_cast<std::uint32_t>(size_ / 100)}};
    kernels::SelectScratch scratch;
    Ignores ignores;
    const kernels::DifferencePass pass{t, e, hundredth, scratch, true};
    const kernels::DifferencePass observed{t, e, hundredth, scratch, false, &ignores};
    time("read both (energies)", [&] { return memory_.energies(t, e).ok(); });
    time("topk 1 %", [&] { return memory_.select_largest(pass, 0, entries).ok(); });
    time("threshold, about 1 %",
         [&] { return memory_.select_reaching(pass, 0.36f, entries).ok(); });
    time("magnitudes", [&] { return memory_.observe_magnitudes(observed).ok(); });
    for (const auto& [blocks, name] :
         {std::pair(BlockFormat::kBfloat16, "bfloat16"), std::pair(BlockFormat::kSign, "sign"),
          std::pair(BlockFormat::kSign2, "sign2"), std::pair(BlockFormat::kInt8, "int8"),
          std::pair(BlockFormat::kInt4, "int4")}) {
      std::vector<std::byte> bytes(kernels::quantised_bytes(blocks, size_));
      time(name,
           [&] { return memory_.quantise(blocks, kernels::Rounding::kNearest, t, e, bytes).ok(); });
    }
    time("digest", [&] { return memory_.digest(e).ok(); });
    time("momentum", [&] { return memory_.momentum(0.9f, t, e), true; });
    if (!memory_.on_host()) {
      time("upload", [&] { return memory_.upload(host_, e), true; });
      time("download", [&] { return memory_.download(e, host_).ok(); });
    }
    return std::move(timings_);
  }

 private:
  void time(const char* name, const std::function<bool()>& work) {
    std::vector<double> seconds;
    for (int run = 0; run < kRuns; ++run) {
      memory_.copy(start_.floats(), estimate_.floats());
      KIMESH_CHECK(memory_.finish().ok(), "the memory works");
      const auto begin = std::chrono::steady_clock::now();
      KIMESH_CHECK(work() && memory_.finish().ok(), name);
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::ranges::sort(seconds);
    timings_.push_back({name, seconds[seconds.size() / 2]});
  }

  Memory& memory_;
  std::size_t size_;
  std::vector<float> host_;
  MemoryBuffer target_, start_, estimate_;
  std::vector<Timing> timings_;
};

void compare(Memory& device, std::size_t size) {
  std::printf("%s, %zu elements, medians of %d runs\n", device.name().c_str(), size, kRuns);
  const std::vector<Timing> gpu = Bench(device, size).run();
  const std::vector<Timing> cpu = Bench(kernels::host_memory(), size).run();
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    std::printf("  %-22s %8.3f ms, %6.2f x the read pass", gpu[i].name.c_str(),
                1e3 * gpu[i].seconds, gpu[i].seconds / gpu[0].seconds);
    if (i < cpu.size())
      std::printf("; CPU %8.3f ms, %6.2f x the GPU", 1e3 * cpu[i].seconds,
                  cpu[i].seconds / gpu[i].seconds);
    std::printf("\n");
  }
}

}  // namespace
}  // namespace kimesh

int main(int count, char** words) {
  const kimesh::bench::Arguments none(count, words, {});
  auto device = kimesh::kernels::open_cuda();
  if (!device) {
    std::printf("%s\n", device.error().message.c_str());
    return 0;
  }
  for (const std::size_t size : {std::size_t{100'000}, std::size_t{1'000'000},
                                 std::size_t{10'000'000}, std::size_t{100'000'000}})
    kimesh::compare(**device, size);
  return 0;
}
