#include <ucontext.h>

#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "kimesh/util/check.h"
#include "tests/cuda/emulation/cuda_runtime.h"

dim3 threadIdx, blockIdx, gridDim;

namespace kimesh::emulation {
namespace {

std::size_t allocations_left = std::numeric_limits<std::size_t>::max();

constexpr unsigned kWarp = 32;
constexpr std::size_t kStackBytes = 256 << 10;  // sanitizers make frames large

enum class Waits { kNot, kForWarp, kForBlock, kDone };

// A place to go on at. Unlike swapcontext these ask nothing of the system.
using Place = std::array<void*, 5>;

struct Thread {
  std::unique_ptr<char[]> stack;  // none before the first turn
  Place place;
  Waits waits = Waits::kNot;
  unsigned exchanges = 0;
};

struct Warp {
  // Two sets in turn: while a slow lane reads one, a quick lane writes the other, and none gets
  // further ahead.
  std::array<std::array<std::uint64_t, kWarp>, 2> values{};
};

struct Block {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Place scheduler;
  const std::function<void()>* kernel = nullptr;
};

Block& block() {
  static Block the_block;
  return the_block;
}

// __builtin_longjmp must not stand in the function that set the place.
[[gnu::noinline]] void go_on_at(Place& place) {
  __builtin_longjmp(place.data(), 1);
}

[[gnu::noinline]] void give_turn_back(Waits waits) {
  Thread& thread = block().threads[threadIdx.x];
  thread.waits = waits;
  if (__builtin_setjmp(thread.place.data()) == 0) go_on_at(block().scheduler);
}

// A thread's stack serves one block after another.
void thread_main() {
  for (;;) {
    (*block().kernel)();
    give_turn_back(Waits::kDone);
  }
}

[[gnu::noinline]] void begin(Thread& thread) {
  thread.stack = std::make_unique<char[]>(kStackBytes);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = thread.stack.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, thread_main, 0);
  setcontext(&context);
  KIMESH_CHECK(false, "a new stack can be entered");
}

// Comes back when the thread waits.
[[gnu::noinline]] void give_turn(unsigned t) {
  threadIdx.x = t;
  Thread& thread = block().threads[t];
  if (__builtin_setjmp(block().scheduler.data()) != 0) return;
  if (thread.stack == nullptr) begin(thread);
  go_on_at(thread.place);
}

bool all_wait(unsigned first, unsigned count, Waits waits) {
  for (unsigned t = first; t < first + count; ++t)
    if (block().threads[t].waits != waits) return false;
  return true;
}

void release(unsigned first, unsigned count) {
  for (unsigned t = first; t < first + count; ++t) block().threads[t].waits = Waits::kNot;
}

// Until every thread of the warp waits for the block or is done.
void run_warp(unsigned warp, bool descending) {
  const unsigned first = warp * kWarp;
  for (;;) {
    for (unsigned i = 0; i < kWarp; ++i) {
      const unsigned t = first + (descending ? kWarp - 1 - i : i);
      if (block().threads[t].waits != Waits::kNot) continue;
      give_turn(t);
    }
    if (!all_wait(first, kWarp, Waits::kForWarp)) break;
    release(first, kWarp);
  }
  for (unsigned t = first; t < first + kWarp; ++t)
    KIMESH_CHECK(block().threads[t].waits != Waits::kForWarp,
                 "all lanes of a warp take part in its operations");
}

void run_block(unsigned threads, bool descending) {
  release(0, threads);
  const unsigned warps = threads / kWarp;
  for (;;) {
    for (unsigned w = 0; w < warps; ++w) run_warp(descending ? warps - 1 - w : w, descending);
    if (all_wait(0, threads, Waits::kDone)) return;
    KIMESH_CHECK(all_wait(0, threads, Waits::kForBlock), "all threads of a block meet its barrier");
    release(0, threads);
  }
}

}  // namespace

void run(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  static bool descending = true;
  descending = !descending;
  KIMESH_CHECK(threads % kWarp == 0, "whole warps");
  if (block().threads.size() < threads) {
    block().threads.resize(threads);
    block().warps.resize(threads / kWarp);
  }
  block().kernel = &kernel;
  gridDim.x = blocks;
  for (unsigned b = 0; b < blocks; ++b) {
    blockIdx.x = descending ? blocks - 1 - b : b;
    run_block(threads, descending);
  }
}

void wait_for_block() {
  give_turn_back(Waits::kForBlock);
}

const std::uint64_t* exchange(std::uint64_t mine) {
  Warp& warp = block().warps[threadIdx.x / kWarp];
  auto& values = warp.values[block().threads[threadIdx.x].exchanges++ % 2];
  values[threadIdx.x % kWarp] = mine;
  give_turn_back(Waits::kForWarp);
  return values.data();
}

void limit_allocations(std::size_t count) {
  allocations_left = count;
}

void* allocate(std::size_t bytes) {
  if (allocations_left == 0) return nullptr;
  --allocations_left;
  void* memory = std::malloc(bytes);
  if (memory != nullptr) std::memset(memory, 0xa5, bytes);
  return memory;
}

}  // namespace kimesh::emulation
