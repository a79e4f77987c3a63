// The one implementation of Memory; each kernels/NAME.cu has the methods that its kernels serve.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "kernels/cuda_block.cuh"
#include "kernels/memory.h"

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
struct Brought;
struct StepHeader;

// Entries that came from the host.
struct Placed {
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
  Result<MemoryBuffer> allocate(std::size_t size) override;
  void upload(std::span<const float> from, MemorySpan to) override;
  Status download(MemorySpan from, std::span<float> to) override;
  Status finish() override;

  void fill(MemorySpan y, float value) override;
  void copy(MemorySpan x, MemorySpan y) override;
  void scale(float a, MemorySpan x, MemorySpan y) override;
  void add_scaled(float a, MemorySpan x, MemorySpan y) override;
  void add(MemorySpan x, MemorySpan y) override;
  void subtract(MemorySpan x, MemorySpan y) override;
  Result<double> energy(MemorySpan x) override;
  Result<std::optional<std::size_t>> first_not_finite(MemorySpan x) override;
  Result<std::uint64_t> digest(MemorySpan x) override;

  void clip(double norm_max, MemorySpan x) override;
  void momentum(float m, MemorySpan gradient, MemorySpan velocity) override;
  void sgd(float rate, MemorySpan direction, MemorySpan x) override;
  void adamw(const AdamwFactors& factors, MemorySpan direction, MemorySpan first, MemorySpan second,
             MemorySpan x) override;

  Result<Energies> energies(MemorySpan target, MemorySpan estimate) override;
  Result<Stepped> step_threshold(MemorySpan target, MemorySpan estimate, float lower, bool update,
                                 Entries& entries) override;
  Result<Stepped> step_topk(MemorySpan target, MemorySpan estimate, std::span<const Quota> quotas,
                            std::uint32_t in_all, bool update, Entries& entries) override;
  void add_entries(std::span<const std::uint32_t> indices, std::span<const float> values,
                   MemorySpan estimate) override;
  Result<Added> add_entries(MemorySpan target, std::span<const std::uint32_t> indices,
                            std::span<const float> values, MemorySpan estimate) override;
  Result<Stepped> step_blocks(Blocks blocks, Rounding rounding, MemorySpan target,
                              MemorySpan estimate, std::span<std::byte> bytes) override;
  void add_blocks(Blocks blocks, std::span<const std::byte> bytes, MemorySpan estimate) override;
  Status count_magnitudes(MemorySpan target, MemorySpan estimate, std::span<const Quota> parts,
                          std::span<MagnitudeBin> bins) override;

 private:
  // What went wrong in the queue so far, once all that was queued is done.
  Status wait();
  // Waits and returns the T that lies at `device`.
  template <typename T>
  Result<T> fetch(const T* device);
  void upload_bytes(std::span<const std::byte> from, void* to);
  // Queues a copy to the device of what the caller may change at once. Once in a call: the next
  // call of this or of bring may come only when the queue has been waited for. False without
  // memory.
  bool stage(std::span<const std::byte> from, void* to);
  // The step of everything that reaches `lower`, queued up to its counts.
  StepBuffers queue_over(MemorySpan target, MemorySpan estimate, float lower);
  // Entries of the host on the device, in the workspace, beside `blocks` pairs of partial sums and
  // a header; null without memory.
  Placed place(std::span<const std::uint32_t> indices, std::span<const float> values,
               std::size_t blocks);
  // Waits and takes over what a step left: all of it in one copy, where no more entries came than
  // expected. The entries lie in the workspace.
  Result<Brought> bring(const StepBuffers& step, std::size_t expected);

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
