#include "kimesh/util/freed_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "tests/sanitized.h"

namespace kimesh::freed_memory_test {
namespace {

#ifdef __GLIBC__
// The blocks are as large as messages of a large model. A thread of its own allocates them, since
// glibc treats the main thread's memory differently. Seen to fail without the call: 12,800 pages a
// round.
TEST(FreedMemory, IsTakenAgainByTheNextRound) {
  keep_freed_memory();
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  constexpr std::size_t kMessageBytes = 25 << 20, kMessages = 4;
  constexpr int kWarmUp = 3, kRounds = 5;
  std::vector<long> faults;
  std::thread([&] {
    for (int round = 0; round < kWarmUp + kRounds; ++round) {
      rusage before{}, after{};
      getrusage(RUSAGE_THREAD, &before);
      {
        std::vector<std::unique_ptr<std::byte[]>> messages;
        for (std::size_t m = 0; m < kMessages; ++m) {
          messages.emplace_back(new std::byte[kMessageBytes]);
          std::fill_n(messages.back().get(), kMessageBytes, std::byte{1});
        }
      }
      getrusage(RUSAGE_THREAD, &after);
      if (round >= kWarmUp) faults.push_back(after.ru_minflt - before.ru_minflt);
    }
  }).join();
  for (const long pages : faults) EXPECT_LE(pages, 100);  // of 25,600 of 4 KiB
}
#endif

}  // namespace
}  // namespace kimesh::freed_memory_test
