#include "kimesh/util/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Large buffers lie in large pages where the system gives some: additions to elements here and
// there spend most of their time looking up small ones.
constexpr std::size_t kLargePage = std::size_t{1} << 21, kLargeMin = 2 * kLargePage;

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t size) : size_(size) {
  if (size == 0) return;
  KIMESH_CHECK(size <= std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float) - 64,
               "a buffer's size is a number of elements that memory can hold");
  // The allocation is whole cache lines, so that a kernel may load the last one without leaving it.
  const std::size_t line = kBufferAlignment / sizeof(float);
  const std::size_t padded = (size + line - 1) / line * line;
  const bool large = padded * sizeof(float) >= kLargeMin;
  const Free free{std::align_val_t{large ? kLargePage : kBufferAlignment}};
  void* memory = ::operator new(padded * sizeof(float), free.alignment, std::nothrow);
  KIMESH_CHECK(memory != nullptr, "the machine has memory for a buffer of the model");
  if (large) (void)madvise(memory, padded * sizeof(float), MADV_HUGEPAGE);  // a wish
  data_ = {static_cast<float*>(memory), free};
  std::fill_n(data_.get(), padded, 0.0f);
}

void AlignedBuffer::Free::operator()(float* p) const {
  ::operator delete(p, alignment);
}

}  // namespace kimesh
