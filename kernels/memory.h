// Float vectors in a GPU's memory, and the twins of the kernels that work on them there. Each twin
// leaves the bits that its CPU version leaves, in vectors, values, indices and digests; sums in
// float64 (energies) are added in another order, the same on every GPU and in every run, and differ
// from the CPU's in their last digits.
//
// Where kimesh is built without CUDA, no_cuda.cpp says so and the rest of this page stays unused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kernels/adamw_factors.h"
#include "kernels/collect.h"
#include "kernels/histogram.h"
#include "kernels/quantise.h"
#include "kimesh/util/result.h"

namespace kimesh::kernels {

// A part of a device's memory. Only the device may follow the pointer.
struct MemorySpan {
  float* data = nullptr;
  std::size_t size = 0;
  [[nodiscard]] MemorySpan subspan(std::size_t offset, std::size_t count) const {
    return {data + offset, count};
  }
};

// Owns floats on a device, which outlives it. Zeroed at first. Move-only.
class MemoryBuffer {
 public:
  using Free = void (*)(float*);
  MemoryBuffer() = default;
  MemoryBuffer(MemorySpan floats, Free free) : data_(floats.data, free), size_(floats.size) {}
  [[nodiscard]] MemorySpan floats() const { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<float, Free> data_{nullptr, nullptr};
  std::size_t size_ = 0;
};

// A part of the vector, and how many of its largest elements are wanted.
struct Quota {
  std::size_t offset = 0, size = 0;
  std::uint32_t keep = 0;
};

// What a message's step of the channel did. `added` only where the estimate was updated.
struct Stepped {
  Energies energies;
  Added added;
};

// One GPU. All work goes to one queue in the order of the calls; a call returns when it is queued,
// those that return a Result wait for theirs. An error of the queue (a device that fails) comes out
// of the next Result, and nothing computed since is worth anything then: Errors: Io everywhere.
// Spans of one call have one size, and do not overlap unless they are equal. Sizes < 2^32.
// Thread: one at a time.
class Memory {
 public:
  virtual ~Memory() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // Errors: Io when the device has not so much memory.
  [[nodiscard]] virtual Result<MemoryBuffer> allocate(std::size_t size) = 0;
  // `from` may be used again at once.
  virtual void upload(std::span<const float> from, MemorySpan to) = 0;
  [[nodiscard]] virtual Status download(MemorySpan from, std::span<float> to) = 0;
  [[nodiscard]] virtual Status finish() = 0;

  // Elementwise, one rounding per operation.
  virtual void fill(MemorySpan y, float value) = 0;
  virtual void copy(MemorySpan x, MemorySpan y) = 0;
  virtual void scale(float a, MemorySpan x, MemorySpan y) = 0;       // y = a x
  virtual void add_scaled(float a, MemorySpan x, MemorySpan y) = 0;  // y = y + a x
  virtual void add(MemorySpan x, MemorySpan y) = 0;                  // y = y + x
  virtual void subtract(MemorySpan x, MemorySpan y) = 0;             // y = y - x

  // Σ x², and the first element that is NaN or infinite.
  [[nodiscard]] virtual Result<double> energy(MemorySpan x) = 0;
  [[nodiscard]] virtual Result<std::optional<std::size_t>> first_not_finite(MemorySpan x) = 0;
  // As digest_floats.
  [[nodiscard]] virtual Result<std::uint64_t> digest(MemorySpan x) = 0;

  // The parts of fold_gradient and of ShardOptimizer::step. clip scales x to the L2 norm
  // `norm_max` where its norm is finite and larger.
  virtual void clip(double norm_max, MemorySpan x) = 0;
  virtual void momentum(float m, MemorySpan gradient, MemorySpan velocity) = 0;
  virtual void sgd(float rate, MemorySpan direction, MemorySpan x) = 0;
  virtual void adamw(const AdamwFactors& factors, MemorySpan direction, MemorySpan first,
                     MemorySpan second, MemorySpan x) = 0;

  // Of target and difference, as a step tells them.
  [[nodiscard]] virtual Result<Energies> energies(MemorySpan target, MemorySpan estimate) = 0;

  // The fused steps of a channel: fills `entries` as collect and collect_topk of collect.h do,
  // and with `update` adds these to the estimate, as add_entries. Nothing comes back in between:
  // what the steps find (thresholds, ties, counts) stays on the device. Where an element is not
  // finite (Energies::finite) the estimate is untouched and the entries are empty.
  // topk: of each quota its largest; quotas cover the vector in order. With `in_all` > 0 then also
  // the largest of the rest, wherever they are, until so many are kept: the quotas are a floor.
  // Requires in_all = 0 or >= the sum of the floor.
  [[nodiscard]] virtual Result<Stepped> step_threshold(MemorySpan target, MemorySpan estimate,
                                                       float lower, bool update,
                                                       Entries& entries) = 0;
  [[nodiscard]] virtual Result<Stepped> step_topk(MemorySpan target, MemorySpan estimate,
                                                  std::span<const Quota> quotas,
                                                  std::uint32_t in_all, bool update,
                                                  Entries& entries) = 0;
  // estimate[index] += value. Indices ascend and are below the estimate's size.
  virtual void add_entries(std::span<const std::uint32_t> indices, std::span<const float> values,
                           MemorySpan estimate) = 0;
  // The same, and what that did, as add_entries of collect.h.
  [[nodiscard]] virtual Result<Added> add_entries(MemorySpan target,
                                                  std::span<const std::uint32_t> indices,
                                                  std::span<const float> values,
                                                  MemorySpan estimate) = 0;

  // Fills `bytes` as quantise of quantise.h does and adds what they decode to, as add_quantised;
  // Stepped::added.left is what that returns. Where an element is not finite the estimate is
  // untouched and the bytes are worthless. Shapes: bytes [quantised_bytes(blocks, size)].
  [[nodiscard]] virtual Result<Stepped> step_blocks(Blocks blocks, Rounding rounding,
                                                    MemorySpan target, MemorySpan estimate,
                                                    std::span<std::byte> bytes) = 0;
  // As add_quantised. Requires is_quantised.
  virtual void add_blocks(Blocks blocks, std::span<const std::byte> bytes, MemorySpan estimate) = 0;

  // Of each part what a MagnitudeHistogram of all its elements counts; Quota::keep is not read.
  // Shapes: bins [parts, kMagnitudeBins].
  [[nodiscard]] virtual Status count_magnitudes(MemorySpan target, MemorySpan estimate,
                                                std::span<const Quota> parts,
                                                std::span<MagnitudeBin> bins) = 0;
};

// The machine's first GPU. Errors: UserInput, "no CUDA device: …", where there is none that works.
[[nodiscard]] Result<std::unique_ptr<Memory>> open_cuda();

}  // namespace kimesh::kernels
