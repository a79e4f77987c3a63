// The thread that writes checkpoints finds no memory. Every piece of a file lies on a page of its
// own: this program's aligned allocations fail where a test says so.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "kimesh/checkpoint/checkpoint_files.h"
#include "kimesh/records/durable_file.h"
#include "tests/records/folder.h"

namespace {
std::atomic<bool> no_memory{false};
}  // namespace

void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  const bool fails = no_memory && size == kimesh::kFilePieceBytes;
  void* const memory = fails ? nullptr : std::aligned_alloc(step, (size + step - 1) / step * step);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace kimesh::no_memory_test {
namespace {

// Seen to fail: the exception not guarded (the process ends); a thread of vector work that waits
// for the memory of the state that was to be written.
TEST(CheckpointFiles, WhoseWriterFindsNoMemoryFailWithASentenceAndHoldNobodyUp) {
  const test::Folder folder;
  auto opened = CheckpointFiles::open({folder / "checkpoints/a", {"0.1.0", "a", 11, 22}, 2, {}});
  ASSERT_TRUE(opened.ok());
  CheckpointFiles& files = **opened;
  no_memory = true;
  files.keep({9}, files.memory());
  while (files.newest().ok()) std::this_thread::yield();
  no_memory = false;
  EXPECT_EQ(files.newest().error().message,
            "writing a checkpoint: no memory is left (std::bad_alloc)");
  files.keep({19}, files.memory());  // it may have been asked for before the run ends
  EXPECT_FALSE(files.finish().ok());
  EXPECT_EQ(checkpoint_rounds(folder / "checkpoints/a"), std::vector<Round>());
}

}  // namespace
}  // namespace kimesh::no_memory_test
