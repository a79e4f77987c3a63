// The one implementation of Device; each kernels/NAME.cu has the methods that its kernels serve.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "kernels/cuda.h"
#include "kernels/cuda_block.cuh"

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

class CudaDevice final : public Device {
 public:
  CudaDevice(std::string name, cudaStream_t stream) : name_(std::move(name)), stream_(stream) {}
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string name() const override { return name_; }
  Result<DeviceBuffer> allocate(std::size_t size) override;
  void upload(std::span<const float> from, DeviceFloats to) override;
  Status download(DeviceFloats from, std::span<float> to) override;
  Status finish() override;

  void fill(DeviceFloats y, float value) override;
  void copy(DeviceFloats x, DeviceFloats y) override;
  void scale(float a, DeviceFloats x, DeviceFloats y) override;
  void add_scaled(float a, DeviceFloats x, DeviceFloats y) override;
  void add(DeviceFloats x, DeviceFloats y) override;
  void subtract(DeviceFloats x, DeviceFloats y) override;
  Result<double> energy(DeviceFloats x) override;
  Result<std::optional<std::size_t>> first_not_finite(DeviceFloats x) override;
  Result<std::uint64_t> digest(DeviceFloats x) override;

  void clip(double norm_max, DeviceFloats x) override;
  void momentum(float m, DeviceFloats gradient, DeviceFloats velocity) override;
  void sgd(float rate, DeviceFloats direction, DeviceFloats x) override;
  void adamw(const AdamwFactors& factors, DeviceFloats direction, DeviceFloats first,
             DeviceFloats second, DeviceFloats x) override;

  Result<Energies> energies(DeviceFloats target, DeviceFloats estimate) override;
  Result<Stepped> step_threshold(DeviceFloats target, DeviceFloats estimate, float lower,
                                 bool update, Entries& entries) override;
  Result<Stepped> step_topk(DeviceFloats target, DeviceFloats estimate,
                            std::span<const Share> shares, std::uint32_t in_all, bool update,
                            Entries& entries) override;
  void add_entries(std::span<const std::uint32_t> indices, std::span<const float> values,
                   DeviceFloats estimate) override;
  Result<Added> add_entries(DeviceFloats target, std::span<const std::uint32_t> indices,
                            std::span<const float> values, DeviceFloats estimate) override;
  Result<Stepped> step_blocks(Blocks blocks, Round round, DeviceFloats target,
                              DeviceFloats estimate, std::span<std::byte> bytes) override;
  void add_blocks(Blocks blocks, std::span<const std::byte> bytes, DeviceFloats estimate) override;
  Status count_magnitudes(DeviceFloats target, DeviceFloats estimate, std::span<const Share> parts,
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
  StepBuffers queue_over(DeviceFloats target, DeviceFloats estimate, float lower);
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
Result<T> CudaDevice::fetch(const T* device) {
  T value{};
  if (device == nullptr) return cuda_error(cudaErrorMemoryAllocation);
  (void)cudaMemcpyAsync(&value, device, sizeof(T), cudaMemcpyDeviceToHost, stream_);
  if (Status done = wait(); !done) return done.error();
  return value;
}

}  // namespace kimesh::kernels
