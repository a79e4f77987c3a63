#include "kimesh/util/freed_memory.h"

#include <malloc.h>

#include <limits>

#include "kimesh/util/check.h"

namespace kimesh {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMappedBytesMin = 32 << 20;  // the largest that glibc takes: half of a heap
  constexpr int kHeapBytes = 64 << 20;       // an empty heap of a thread is kept, too
  constexpr int kNever = std::numeric_limits<int>::max();
  KIMESH_CHECK(mallopt(M_MMAP_THRESHOLD, kMappedBytesMin) == 1, "a threshold that glibc takes");
  mallopt(M_TOP_PAD, kHeapBytes);
  mallopt(M_TRIM_THRESHOLD, kNever);
#endif
}

}  // namespace kimesh
