// Writes and reads the files of a run. Every step returns whether it succeeded, so that nothing is
// lost silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kimesh/util/fd.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The longest line of a JSON-lines file of kimesh.
inline constexpr std::size_t kLineBytesMax = 4 << 20;  // a node with 1,000 links, 1 KB each

// Appends lines through a buffer. Thread: one at a time.
class LineFile {
 public:
  // kOpen: the file stays open, so that a process without a free descriptor can go on writing.
  // kClosed: it is open during a write alone, so that a simulation of a thousand nodes does not
  // need a thousand descriptors.
  enum class Hold { kOpen, kClosed };
  // Creates the file, or empties it. Errors: Io.
  [[nodiscard]] static Result<LineFile> create(std::string path, Hold hold = Hold::kOpen);
  // Goes on behind the whole lines of a file; the part of a line that a killed process left is cut
  // off. Creates the file where there is none. Errors: Io.
  [[nodiscard]] static Result<LineFile> extend(std::string path, Hold hold = Hold::kOpen);

  // Adds `line` and a line feed, and writes when the buffer is full. Errors: Io (so is a file that
  // was removed), and again for every later call: a line that could not be written is never
  // skipped.
  [[nodiscard]] Status append(std::string_view line);
  // Writes the buffer. To be called before destruction, which drops buffered lines.
  [[nodiscard]] Status flush();
  // Gives the file another name, in place of what has it, and goes on with an empty one. False:
  // nothing was changed, since the process has no descriptor for the empty one; it may have one
  // later. Errors: Io.
  [[nodiscard]] Result<bool> move_to(const std::string& path);
  [[nodiscard]] std::uint64_t bytes() const { return written_ + buffer_.size(); }

 private:
  LineFile(std::string path, Hold hold, Fd file, std::uint64_t written = 0);
  [[nodiscard]] Status write(Fd& file);
  std::string path_, buffer_;
  Hold hold_;
  Fd file_;  // Hold::kOpen
  std::uint64_t written_ = 0;
  std::optional<Error> failed_;
};

// Reads the whole lines that another process appends to a file.
class LineFollower {
 public:
  // `earlier` is the name that the writer gives to a file that has become too large, before it goes
  // on with an empty one: it is read first, and read to its end once it has that name. Empty: the
  // file keeps its name.
  explicit LineFollower(std::string path, std::string earlier = "")
      : path_(std::move(path)), earlier_(std::move(earlier)) {}
  // The next whole line, without its line feed; nothing: there is no further one yet, or no file.
  // Errors: Io; Malformed, once for a line over kLineBytesMax, which is passed over.
  [[nodiscard]] Result<std::optional<std::string>> next();
  [[nodiscard]] std::size_t line() const { return line_; }  // number of the last one, from 1
  // The name that the file of the last line had when it was read.
  [[nodiscard]] const std::string& path() const { return reads_earlier_ ? earlier_ : path_; }

 private:
  [[nodiscard]] Result<bool> read_more();
  [[nodiscard]] Result<bool> read_more_of(const std::string& path, bool& is_other);
  std::string path_, earlier_, buffer_;
  std::size_t taken_ = 0;              // bytes of buffer_ that were handed out
  std::optional<std::uint64_t> file_;  // the one that is being read
  std::uint64_t offset_ = 0;
  std::size_t line_ = 0;
  bool reads_earlier_ = false;
  bool passes_over_ = false;  // the rest of a line that is too long is skipped
};

// Writes a file under a temporary name and then renames it, so that a reader sees all of it or
// nothing. A loss of power may leave an empty file; DurableFile leaves none. Errors: Io; the
// temporary file is removed then.
[[nodiscard]] Status write_whole(const std::string& path, std::span<const std::byte> bytes);
[[nodiscard]] Status write_whole(const std::string& path, std::string_view text);
// The same where others may write the file at the same time: whoever is last counts. Returns once
// the disk holds the file under its name.
[[nodiscard]] Status write_shared(const std::string& path, std::string_view text);
// Returns once the disk holds what was written to the file; a file that is not there has nothing.
// Errors: Io.
[[nodiscard]] Status sync_file(const std::string& path);
// Returns once the disk holds the names in the folder of a file. Errors: Io.
[[nodiscard]] Status sync_folder_of(const std::string& path);
// Reads a whole file. Errors: Io (it cannot be read, is no regular file, or is longer than
// `bytes_max`).
[[nodiscard]] Result<std::string> read_whole(const std::string& path, std::size_t bytes_max);
// The last `lines` lines of a file, at most 4 KiB of it; empty when there is none.
[[nodiscard]] std::string last_lines(const std::string& path, std::size_t lines);

}  // namespace kimesh
