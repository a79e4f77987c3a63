// Memory for float vectors, aligned to a cache line, zeroed.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace kimesh {

inline constexpr std::size_t kBufferAlignment = 64;  // bytes: a cache line, and an AVX-512 register

// Owns `size` float32 elements, zero at first. Move-only; a buffer that was moved from is empty.
// The elements keep their address for their lifetime, also when the buffer is moved. The process
// ends when the machine has not enough memory.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] std::span<float> span() { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const float> span() const { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace kimesh
