#include "kimesh/records/durable_file.h"

#include <gtest/gtest.h>

#include "tests/records/folder.h"

namespace kimesh::durable_file_test {
namespace {

std::vector<std::byte> bytes_of(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

// Around the sizes of a sector and of a piece, and in parts that end anywhere.
TEST(DurableFile, HoldsWhatWasAppendedUnderTheNameAlone) {
  const test::Folder folder;
  const std::string path = folder / "file";
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kFilePieceBytes - 1, kFilePieceBytes,
        kFilePieceBytes + 1, 2 * kFilePieceBytes + 4097}) {
    SCOPED_TRACE(size);
    const std::vector<std::byte> bytes = bytes_of(size);
    auto file = DurableFile::create(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const std::span<const std::byte> whole(bytes);
    ASSERT_TRUE(file->append(whole.first(size / 3)).ok());
    ASSERT_TRUE(file->append(whole.subspan(size / 3)).ok());
    ASSERT_TRUE(file->commit().ok());
    EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));

    auto reader = PieceReader::open(path);
    ASSERT_TRUE(reader.ok());
    ASSERT_EQ(reader->left(), size);
    std::vector<std::byte> read(size);
    ASSERT_TRUE(reader->read(std::span(read).first(size / 2)).ok());
    ASSERT_TRUE(reader->read(std::span(read).subspan(size / 2)).ok());
    EXPECT_TRUE(read == bytes);
    reader->go_to(size / 3);
    EXPECT_EQ(reader->left(), size - size / 3);
  }
}

TEST(DurableFile, LeavesNothingWhereItIsGivenUp) {
  const test::Folder folder;
  const std::string path = folder / "file";
  test::put(path, "of before");
  {
    auto file = DurableFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append(bytes_of(2 * kFilePieceBytes)).ok());
  }
  EXPECT_EQ(test::get(path), "of before");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  EXPECT_FALSE(DurableFile::create(folder / "none/file").ok());
}

}  // namespace
}  // namespace kimesh::durable_file_test
