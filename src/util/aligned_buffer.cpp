#include "kimesh/util/aligned_buffer.h"

#include <algorithm>
#include <limits>
#include <new>

#include "kimesh/util/check.h"

namespace kimesh {

AlignedBuffer::AlignedBuffer(std::size_t size) : size_(size) {
  if (size == 0) return;
  KIMESH_CHECK(size <= std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float) - 64,
               "a buffer's size is a number of elements that memory can hold");
  // Whole cache lines, so that a kernel may load the last one without leaving the allocation.
  const std::size_t line = kBufferAlignment / sizeof(float);
  const std::size_t padded = (size + line - 1) / line * line;
  void* memory =
      ::operator new (padded * sizeof(float), std::align_val_t{kBufferAlignment}, std::nothrow);
  KIMESH_CHECK(memory != nullptr, "the machine has memory for a buffer of the model");
  data_.reset(static_cast<float*>(memory));
  std::fill_n(data_.get(), padded, 0.0f);
}

void AlignedBuffer::Free::operator()(float* p) const {
  ::operator delete (p, std::align_val_t{kBufferAlignment});
}

}  // namespace kimesh
