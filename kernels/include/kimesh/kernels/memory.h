// Where float vectors lie, and what can be computed on them there: in the host's memory, or in a
// GPU's. What is built on this (compress, ef21, optimizer, vectors) is written once for both.
//
// Every memory leaves the same bits in vectors, entries, message bytes and digests; host_memory()
// is the reference. Sums in float64 (energies) are added in another order on a GPU, the same on
// every GPU and in every run, and differ from the host's in their last digits. So may a vector that
// clip() shortens, whose factor comes from such a sum.
//
//   Memory& memory = host_memory();
//   Result<MemoryBuffer> x = memory.allocate(1000);
//   memory.upload(values, x->floats());
//   memory.scale(0.5f, x->floats(), x->floats());
//   Status copied = memory.download(x->floats(), values);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kimesh/kernels/adamw_factors.h"
#include "kimesh/kernels/collect.h"
#include "kimesh/kernels/histogram.h"
#include "kimesh/kernels/quantise.h"
#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh::kernels {

// Floats in some memory. Only that memory may follow the pointer.
template <typename Float>
struct BasicMemorySpan {
  Float* data = nullptr;
  std::size_t size = 0;

  BasicMemorySpan() = default;
  BasicMemorySpan(Float* first, std::size_t count) : data(first), size(count) {}
  // Floats of the host.
  explicit BasicMemorySpan(std::span<Float> floats) : data(floats.data()), size(floats.size()) {}
  // Floats that may be written may be read as well.
  template <typename Other>
  requires(std::is_same_v<const Other, Float>) BasicMemorySpan(BasicMemorySpan<Other> other)
      : data(other.data), size(other.size) {}  // NOLINT

  [[nodiscard]] bool empty() const { return size == 0; }
  [[nodiscard]] BasicMemorySpan subspan(std::size_t offset, std::size_t count) const {
    return {data + offset, count};
  }
};
using MemorySpan = BasicMemorySpan<float>;
using ConstMemorySpan = BasicMemorySpan<const float>;

// Owns floats in a memory, which outlives it. Zeroed at first, aligned to 64 bytes. Move-only; what
// was moved from is empty. The floats keep their address when the buffer is moved.
class MemoryBuffer {
 public:
  // What a memory gave; it goes back with this.
  struct Allocation {
    Allocation() = default;
    virtual ~Allocation() = default;
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
  };
  MemoryBuffer() = default;
  MemoryBuffer(MemorySpan floats, std::unique_ptr<Allocation> allocation)
      : floats_(floats), allocation_(std::move(allocation)) {}
  MemoryBuffer(MemoryBuffer&& other) noexcept
      : floats_(std::exchange(other.floats_, {})), allocation_(std::move(other.allocation_)) {}
  MemoryBuffer& operator=(MemoryBuffer&& other) noexcept {
    floats_ = std::exchange(other.floats_, {});
    allocation_ = std::move(other.allocation_);
    return *this;
  }
  [[nodiscard]] MemorySpan floats() const { return floats_; }
  [[nodiscard]] std::size_t size() const { return floats_.size; }
  [[nodiscard]] bool empty() const { return floats_.empty(); }

 private:
  MemorySpan floats_;
  std::unique_ptr<Allocation> allocation_;
};

// A part of a vector, and how many of the largest elements there are wanted.
struct Quota {
  std::size_t offset = 0, size = 0;
  std::uint32_t keep = 0;
};

// The magnitudes |target − estimate| in one part of a vector, as a pass counted them.
struct PartMagnitudes {
  std::size_t part = 0;  // its position in DifferencePass::parts
  std::span<const MagnitudeBin> bins;
  std::size_t first_bin = 1, end_bin = kMagnitudeBins;  // outside all are empty, but for zeros
  // The part's energy, where the pass has summed it; else bins tell it.
  std::optional<double> energy;
  // True: the bins count a sample of the elements, and all that reach `lower` are in `known`.
  bool sampled = false;
  float lower = 0;
  std::span<const float> known;
};

// Whoever wants to know the magnitudes that a pass meets. What the call is given lasts as long as
// the call. A pass that begins again tells of a part again: then the last time counts.
class MagnitudeObserver {
 public:
  MagnitudeObserver() = default;
  virtual ~MagnitudeObserver() = default;
  MagnitudeObserver(const MagnitudeObserver&) = delete;
  MagnitudeObserver& operator=(const MagnitudeObserver&) = delete;
  virtual void observe(const PartMagnitudes& magnitudes) = 0;
};

// The difference target − estimate of a channel, and what a pass over it does besides.
struct DifferencePass {
  ConstMemorySpan target;
  MemorySpan estimate;           // of the same size
  std::span<const Quota> parts;  // cover the vectors in order
  SelectScratch& scratch;
  // What the pass selects is added to the estimate on the way.
  bool update = false;
  MagnitudeObserver* observer = nullptr;
};

// What a pass found and did. `added` only where the estimate was updated.
struct PassResult {
  Energies energies;  // of the whole vectors, before
  Added added;
};

// One memory. On a GPU all work goes to one queue in the order of the calls: a call returns when it
// is queued, those that return a Result wait for theirs. An error of the queue (a device that
// fails) comes out of the next Result, and nothing computed since is worth anything then. Errors:
// Io everywhere; the host's memory has none.
// Spans of one call have one size, and do not overlap unless they are equal. Sizes < 2^32.
// Thread: one at a time; the host's memory: any.
class Memory {
 public:
  Memory() = default;
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  // Whether code of the host may follow pointers into this memory.
  [[nodiscard]] virtual bool on_host() const = 0;
  // The same floats, for code of the host. Requires on_host().
  [[nodiscard]] std::span<float> view(MemorySpan x) const;
  [[nodiscard]] std::span<const float> view(ConstMemorySpan x) const;

  // Errors: Io when a device has not so much memory. A host without it ends the process.
  [[nodiscard]] virtual Result<MemoryBuffer> allocate(std::size_t size) = 0;
  // Little-endian float32 at any address; `from` may be used again at once. Where both are the same
  // floats nothing is done, here and in download.
  virtual void upload(std::span<const std::byte> from, MemorySpan to) = 0;
  void upload(std::span<const float> from, MemorySpan to) { upload(std::as_bytes(from), to); }
  [[nodiscard]] virtual Status download(ConstMemorySpan from, std::span<std::byte> to) = 0;
  [[nodiscard]] Status download(ConstMemorySpan from, std::span<float> to) {
    return download(from, std::as_writable_bytes(to));
  }
  // Waits for all that is queued.
  [[nodiscard]] virtual Status finish() = 0;

  // Elementwise, one rounding per operation.
  virtual void fill(MemorySpan y, float value) = 0;
  virtual void copy(ConstMemorySpan x, MemorySpan y) = 0;
  virtual void scale(float a, ConstMemorySpan x, MemorySpan y) = 0;       // y = a x
  virtual void add_scaled(float a, ConstMemorySpan x, MemorySpan y) = 0;  // y = y + a x
  virtual void add(ConstMemorySpan x, MemorySpan y) = 0;                  // y = y + x
  virtual void subtract(ConstMemorySpan x, MemorySpan y) = 0;             // y = y - x

  // Σ x², and the first element that is NaN or infinite.
  [[nodiscard]] virtual Result<double> energy(ConstMemorySpan x) = 0;
  [[nodiscard]] virtual Result<std::optional<std::size_t>> first_not_finite(ConstMemorySpan x) = 0;
  // As digest_floats.
  [[nodiscard]] virtual Result<std::uint64_t> digest(ConstMemorySpan x) = 0;

  // As optimizer.h.
  virtual void clip(double norm_max, MemorySpan x) = 0;
  virtual void momentum(float m, ConstMemorySpan gradient, MemorySpan velocity) = 0;
  virtual void nesterov(float m, MemorySpan gradient, MemorySpan velocity) = 0;
  virtual void sgd(float rate, ConstMemorySpan direction, MemorySpan x) = 0;
  virtual void adamw(const AdamwFactors& factors, ConstMemorySpan direction, MemorySpan first,
                     MemorySpan second, MemorySpan x) = 0;

  // The passes of a channel's sender. Where an element of target or difference is not finite
  // (Energies::finite) the estimate is untouched, and what came out is worthless.

  // The energies of the target and of its difference to the estimate.
  [[nodiscard]] virtual Result<Energies> energies(ConstMemorySpan target,
                                                  ConstMemorySpan estimate) = 0;
  // Tells pass.observer of every part; selects and adds nothing. False where the host meets a
  // difference that is not finite: then not all parts were told of.
  [[nodiscard]] virtual Result<bool> observe_magnitudes(const DifferencePass& pass) = 0;
  // Fills `entries` with every element of the difference that reaches `lower` > 0.
  [[nodiscard]] virtual Result<PassResult> select_reaching(const DifferencePass& pass, float lower,
                                                           Entries& entries) = 0;
  // Fills `entries` with the largest of each part, Quota::keep of them, as collect_topk. With
  // `in_all` > 0 then also with the largest of the rest, wherever they are, until so many are kept:
  // the quotas are a floor. Requires in_all = 0 or >= the sum of the floor.
  [[nodiscard]] virtual Result<PassResult> select_largest(const DifferencePass& pass,
                                                          std::uint32_t in_all,
                                                          Entries& entries) = 0;
  // estimate[index] += value, and what that did: as add_entries of collect.h or, where `whole` says
  // that each value is the whole difference there, perhaps as add_whole_entries.
  [[nodiscard]] virtual Result<Added> add_entries(ConstMemorySpan target,
                                                  std::span<const std::uint32_t> indices,
                                                  std::span<const float> values, bool whole,
                                                  MemorySpan estimate) = 0;
  // Fills `bytes` as quantise of quantise.h does and adds what they decode to, as add_quantised;
  // PassResult::added.left is what that returns. Shapes: bytes [quantised_bytes(blocks, size)].
  [[nodiscard]] virtual Result<PassResult> quantise(BlockFormat blocks, Rounding rounding,
                                                    ConstMemorySpan target, MemorySpan estimate,
                                                    std::span<std::byte> bytes) = 0;

  // What a channel's receiver does with bytes that were found correct. They may be freed at once.

  // As add_sparse of sparse.h.
  virtual void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                          MemorySpan estimate) = 0;
  // As add_quantised of quantise.h.
  virtual void add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                             MemorySpan estimate) = 0;
};

// The floats as a part of a state, and back; the reader fails where its bytes do not suffice.
// Errors: Io.
[[nodiscard]] Status save_floats(Memory& memory, ConstMemorySpan from, StateWriter& writer);
void restore_floats(Memory& memory, StateReader& reader, MemorySpan to);

// The memory of this process: it keeps nothing, so that all threads share it.
[[nodiscard]] Memory& host_memory();

// The memory of the machine's first GPU, with a queue of its own. Errors: UserInput, "no CUDA
// device: …", where there is none that works; so always where kimesh is built without CUDA
// (no_cuda.cpp).
[[nodiscard]] Result<std::unique_ptr<Memory>> open_cuda();

}  // namespace kimesh::kernels
