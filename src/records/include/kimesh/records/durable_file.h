// Large files that are written beside training, and that survive a loss of power.
//
// Pieces go straight to the disk where the file system allows it (O_DIRECT): they take no processor
// time for a second copy in the kernel's memory, and leave nothing for the last fsync to wait for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "kimesh/util/result.h"

namespace kimesh {

// What is written, or read, of a large file at once: enough for the disk's full rate, and small
// beside any state.
inline constexpr std::size_t kFilePieceBytes = std::size_t{1} << 20;

// Writes PATH.tmp, and gives it the name PATH once the disk holds it. Thread: one at a time.
class DurableFile {
 public:
  // Errors: Io; the same below.
  [[nodiscard]] static Result<DurableFile> create(std::string path);
  DurableFile(DurableFile&&) noexcept;
  DurableFile& operator=(DurableFile&&) noexcept;
  ~DurableFile();  // removes the temporary file, unless commit() has named it

  [[nodiscard]] Status append(std::span<const std::byte> bytes);
  // Returns once the disk holds the file under its name. Nothing may be called afterwards.
  [[nodiscard]] Status commit();

 private:
  struct State;
  explicit DurableFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same of a whole file at once.
[[nodiscard]] Status write_durable(const std::string& path, std::span<const std::byte> bytes);

// Reads a file from its begin in pieces. Thread: one at a time.
class PieceReader {
 public:
  // Errors: Io; the same below.
  [[nodiscard]] static Result<PieceReader> open(const std::string& path);
  PieceReader(PieceReader&&) noexcept;
  PieceReader& operator=(PieceReader&&) noexcept;
  ~PieceReader();

  [[nodiscard]] std::size_t left() const;
  // Fills `to` with the next bytes. Requires as many to be left.
  [[nodiscard]] Status read(std::span<std::byte> to);
  // The next byte is the one at `offset`. Requires a place in the file.
  void go_to(std::size_t offset);

 private:
  struct State;
  explicit PieceReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kimesh
