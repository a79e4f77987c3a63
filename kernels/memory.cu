#include <algorithm>
#include <utility>

#include "cuda_memory.cuh"

namespace kimesh::kernels {
namespace {

// The next power of two, so that growing calls do not allocate again and again.
std::size_t room_for(std::size_t bytes) {
  std::size_t room = 1 << 16;
  while (room < bytes) room *= 2;
  return room;
}

struct CudaAllocation final : MemoryBuffer::Allocation {
  explicit CudaAllocation(void* allocated) : memory(allocated) {}
  ~CudaAllocation() override { (void)cudaFree(memory); }
  void* memory;
};

Error no_device(const std::string& why) {
  return {ErrorCode::kUserInput, "no CUDA device: " + why};
}

}  // namespace

Error cuda_error(cudaError_t code) {
  return {ErrorCode::kIo, std::string("the CUDA device failed: ") + cudaGetErrorString(code)};
}

Workspace::~Workspace() {
  (void)cudaFree(device_);
  (void)cudaFreeHost(host_);
}

std::byte* Workspace::device(std::size_t bytes, cudaStream_t stream) {
  if (bytes <= device_bytes_) return device_;
  (void)cudaStreamSynchronize(stream);  // earlier kernels may still work in the old memory
  (void)cudaFree(std::exchange(device_, nullptr));
  device_bytes_ = 0;
  void* memory = nullptr;
  if (cudaMalloc(&memory, room_for(bytes)) != cudaSuccess) return nullptr;
  device_bytes_ = room_for(bytes);
  device_ = static_cast<std::byte*>(memory);
  return device_;
}

std::byte* Workspace::host(std::size_t bytes, cudaStream_t stream) {
  if (bytes <= host_bytes_) return host_;
  (void)cudaStreamSynchronize(stream);
  (void)cudaFreeHost(std::exchange(host_, nullptr));
  host_bytes_ = 0;
  void* memory = nullptr;
  if (cudaMallocHost(&memory, room_for(bytes)) != cudaSuccess) return nullptr;
  host_bytes_ = room_for(bytes);
  host_ = static_cast<std::byte*>(memory);
  return host_;
}

CudaMemory::~CudaMemory() {
  (void)cudaStreamSynchronize(stream_);
  (void)cudaStreamDestroy(stream_);
}

Status CudaMemory::wait() {
  const cudaError_t queued = cudaGetLastError();
  const cudaError_t done = cudaStreamSynchronize(stream_);
  if (queued != cudaSuccess) return cuda_error(queued);
  if (done != cudaSuccess) return cuda_error(done);
  return ok_status();
}

Status CudaMemory::finish() {
  return wait();
}

Result<MemoryBuffer> CudaMemory::allocate(std::size_t size) {
  if (size == 0) return MemoryBuffer();
  void* memory = nullptr;
  if (const cudaError_t code = cudaMalloc(&memory, size * sizeof(float)); code != cudaSuccess) {
    (void)cudaGetLastError();  // this call tells; the queue is sound
    return cuda_error(code);
  }
  MemoryBuffer buffer({static_cast<float*>(memory), size},
                      std::make_unique<CudaAllocation>(memory));
  (void)cudaMemsetAsync(memory, 0, size * sizeof(float), stream_);
  return buffer;
}

void CudaMemory::upload(std::span<const std::byte> from, MemorySpan to) {
  KIMESH_CHECK(from.size() == to.size * sizeof(float), "an upload has one size");
  upload_bytes(from, to.data);
}

void CudaMemory::upload_bytes(std::span<const std::byte> from, void* to) {
  if (from.empty()) return;
  (void)cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_);
  (void)cudaStreamSynchronize(stream_);  // the caller may change what was copied
}

Status CudaMemory::download(ConstMemorySpan from, std::span<std::byte> to) {
  KIMESH_CHECK(to.size() == from.size * sizeof(float), "a download has one size");
  if (!to.empty())
    (void)cudaMemcpyAsync(to.data(), from.data, to.size(), cudaMemcpyDeviceToHost, stream_);
  return wait();
}

// Pinned memory, because a copy from any other waits for all that is queued.
bool CudaMemory::stage(std::span<const std::byte> from, void* to) {
  std::byte* staged = workspace_.host(from.size(), stream_);
  if (staged == nullptr) return false;
  std::ranges::copy(from, staged);
  (void)cudaMemcpyAsync(to, staged, from.size(), cudaMemcpyHostToDevice, stream_);
  return true;
}

// cudaStreamCreate makes streams that wait for the default one, in which LibTorch computes, and it
// waits for them: kernels rely on that order.
Result<std::unique_ptr<Memory>> open_cuda() {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess)
    return no_device(cudaGetErrorString(code));
  if (count == 0) return no_device("the driver sees none");
  cudaDeviceProp properties = {};
  cudaStream_t stream = nullptr;
  for (const cudaError_t code :
       {cudaSetDevice(0), cudaGetDeviceProperties(&properties, 0), cudaStreamCreate(&stream)})
    if (code != cudaSuccess) return no_device(cudaGetErrorString(code));
  return std::unique_ptr<Memory>(std::make_unique<CudaMemory>(properties.name, stream));
}

}  // namespace kimesh::kernels
