// A GPU's memory; each kernels/NAME.cu has the methods that its kernels serve.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "cuda_block.cuh"
#include "kimesh/kernels/memory.h"

namespace kimesh::kernels {

// Memory that a call works in. What it holds is of no meaning to the next call.
class Workspace {
 public:
  ~Workspace();
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  // At least so many bytes, on the device and (pinned, so that copies need no detour) on the host;
  // null when there are none to be had. What earlier calls returned is no longer valid.
  [[nodiscard]] std::byte* device(std::size_t bytes, cudaStream_t stream);
  [[nodiscard]] std::byte* host(std::size_t bytes, cudaStream_t stream);

 private:
  std::byte* device_ = nullptr;
  std::byte* host_ = nullptr;
  std::size_t device_bytes_ = 0, host_bytes_ = 0;
};

// Divides one piece of memory into arrays. Make two: one without memory tells how much is needed.
class Carver {
 public:
  explicit Carver(std::byte* memory = nullptr) : memory_(memory) {}
  template <typename T>
  T* take(std::size_t count) {
    constexpr std::size_t kAlign = 256;
    T* array = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += ceil_div(count * sizeof(T), kAlign) * kAlign;
    return array;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

struct StepBuffers;
struct PassDownload;
struct StepHeader;

// Entries that were uploaded, and memory for what a pass over them sums.
struct UploadedEntries {
  std::uint32_t* indices = nullptr;
  float* values = nullptr;
  StepHeader* header = nullptr;
  double* partials = nullptr;
};

class CudaMemory final : public Memory {
 public:
  CudaMemory(std::string name, cudaStream_t stream) : name_(std::move(name)), stream_(stream) {}
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  std::string name() const override { return name_; }
  bool on_host() const override { return false; }
  Result<MemoryBuffer> allocate(std::size_t size) override;
  void upload(std::span<const std::byte> from, MemorySpan to) override;
  Status download(ConstMemorySpan from, std::span<std::byte> to) override;
  Status finish() override;

  void fill(MemorySpan y, float value) override;
  void copy(ConstMemorySpan x, MemorySpan y) override;
  void scale(float a, ConstMemorySpan x, MemorySpan y) override;
  void add_scaled(float a, ConstMemorySpan x, MemorySpan y) override;
  void add(ConstMemorySpan x, MemorySpan y) override;
  void subtract(ConstMemorySpan x, MemorySpan y) override;
  Result<double> energy(ConstMemorySpan x) override;
  Result<std::optional<std::size_t>> first_not_finite(ConstMemorySpan x) override;
  Result<std::uint64_t> digest(ConstMemorySpan x) override;

  void clip(double norm_max, MemorySpan x) override;
  void momentum(float m, ConstMemorySpan gradient, MemorySpan velocity) override;
  void nesterov(float m, MemorySpan gradient, MemorySpan velocity) override;
  void sgd(float rate, ConstMemorySpan direction, MemorySpan x) override;
  void adamw(const AdamwFactors& factors, ConstMemorySpan direction, MemorySpan first,
             MemorySpan second, MemorySpan x) override;

  Result<Energies> energies(ConstMemorySpan target, ConstMemorySpan estimate) override;
  // Counts all elements of every part.
  Result<bool> observe_magnitudes(const DifferencePass& pass) override;
  // What these select stays on the device until all is done: thresholds, ties, counts.
  Result<PassResult> select_reaching(const DifferencePass& pass, float lower,
                                     Entries& entries) override;
  Result<PassResult> select_largest(const DifferencePass& pass, std::uint32_t in_all,
                                    Entries& entries) override;
  Result<Added> add_entries(ConstMemorySpan target, std::span<const std::uint32_t> indices,
                            std::span<const float> values, bool whole,
                            MemorySpan estimate) override;
  Result<PassResult> quantise(BlockFormat blocks, Rounding rounding, ConstMemorySpan target,
                              MemorySpan estimate, std::span<std::byte> bytes) override;
  void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                  MemorySpan estimate) override;
  void add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                     MemorySpan estimate) override;

 private:
  // What went wrong in the queue so far, once all that was queued is done.
  Status wait();
  // Waits and returns the T that lies at `device`.
  template <typename T>
  Result<T> fetch(const T* device);
  // Queues a copy to the device and waits for it.
  void upload_bytes(std::span<const std::byte> from, void* to);
  // Queues a copy to the device of what the caller may change at once. Once in a call: the next
  // call of this or of download_pass may come only when the queue has been waited for. False
  // without memory.
  bool stage(std::span<const std::byte> from, void* to);
  // Tells the observer, where there is one, of every part before the estimate changes.
  Status tell_observer(const DifferencePass& pass);
  // Shapes: bins [parts, kMagnitudeBins].
  Status count_magnitudes(const DifferencePass& pass, std::span<MagnitudeBin> bins);
  // Entries of the host on the device, in the workspace, beside `blocks` pairs of partial sums and
  // a header; null without memory.
  UploadedEntries upload_entries(std::span<const std::byte> indices,
                                 std::span<const std::byte> values, std::size_t blocks);
  // Waits and downloads what a pass left: all of it in one copy, where no more entries came than
  // expected. The entries lie in the workspace.
  Result<PassDownload> download_pass(const StepBuffers& step, std::size_t expected);

  std::string name_;
  cudaStream_t stream_;
  Workspace workspace_;
};

[[nodiscard]] Error cuda_error(cudaError_t code);

template <typename T>
Result<T> CudaMemory::fetch(const T* device) {
  T value{};
  if (device == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  (void)cudaMemcpyAsync(&value, device, sizeof(T), cudaMemcpyDeviceToHost, stream_);
  if (Status done = wait(); !done) return done.error();
  return value;
}

}  // namespace kimesh::kernels
