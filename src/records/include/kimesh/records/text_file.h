// Files that a run leaves, written so that nothing is lost silently: every step says whether it
// worked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kimesh/util/result.h"

namespace kimesh {

// A line of any of our JSON-lines files. Longer ones are not ours.
inline constexpr std::size_t kLineBytesMax = 4 << 20;  // a node with 1,000 links, 1 KB each

// Appends lines through a buffer. No descriptor is held between flushes, so a simulation of a
// thousand nodes needs none of its own per node. Thread: one at a time.
class LineFile {
 public:
  // Creates the file, or empties it. Errors: Io.
  [[nodiscard]] static Result<LineFile> create(std::string path);

  // Adds `line` and a line feed; writes when the buffer is full. Errors: Io, once and for every
  // later call: what could not be written is never skipped.
  [[nodiscard]] Status append(std::string_view line);
  // Hands everything to the system. Call before this goes away: what is still buffered then is
  // gone.
  [[nodiscard]] Status flush();

 private:
  explicit LineFile(std::string path) : path_(std::move(path)) {}
  std::string path_, buffer_;
  std::optional<Error> failed_;
};

// Reads lines that another process appends to a file. Only whole lines are handed out.
class LineFollower {
 public:
  explicit LineFollower(std::string path) : path_(std::move(path)) {}
  // The next whole line, without its line feed; nothing: none is there (yet), or no file. Errors:
  // Io, Malformed (a line over kLineBytesMax).
  [[nodiscard]] Result<std::optional<std::string>> next();
  [[nodiscard]] std::size_t line() const { return line_; }  // number of the last one, from 1

 private:
  [[nodiscard]] Result<bool> read_more();
  std::string path_, buffer_;
  std::size_t taken_ = 0;  // bytes of buffer_ that were handed out
  std::uint64_t offset_ = 0;
  std::size_t line_ = 0;
};

// Writes the whole file beside its place and then moves it there: a reader sees all or nothing.
// Errors: Io; no file is left beside then.
[[nodiscard]] Status write_whole(const std::string& path, std::span<const std::byte> bytes);
[[nodiscard]] Status write_whole(const std::string& path, std::string_view text);
// Errors: Io (it cannot be read, or is longer than `bytes_max`).
[[nodiscard]] Result<std::string> read_whole(const std::string& path, std::size_t bytes_max);
// The last `lines` lines of a file, at most 4 KiB of it; empty when there is none.
[[nodiscard]] std::string last_lines(const std::string& path, std::size_t lines);

}  // namespace kimesh
