#include "kimesh/util/freed_memory.h"

#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace kimesh {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMappedBytesMin = 32 << 20;  // the largest that glibc takes: half of a heap
  constexpr int kHeapBytes = 64 << 20;       // an empty heap of a thread is kept, too
  constexpr int kNever = std::numeric_limits<int>::max();
  // The allocator of a sanitizer takes none of these.
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
  mallopt(M_TOP_PAD, kHeapBytes);
  mallopt(M_TRIM_THRESHOLD, kNever);
#endif
}

}  // namespace kimesh
