#include "kimesh/records/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "io_error.h"

namespace kimesh {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;  // a write of this size costs no more than its copy
constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kLastBytesMax = 4096;
constexpr int kAppends = O_APPEND | O_CLOEXEC;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// Reads from `offset` on, and returns the number of bytes, fewer at the end of the file; negative:
// errno says why.
ssize_t read_some(int fd, char* out, std::size_t size, std::uint64_t offset) {
  for (;;) {
    const ssize_t count = ::pread(fd, out, size, static_cast<off_t>(offset));
    if (count >= 0 || errno != EINTR) return count;
  }
}

Status write_and_close(Fd& file, const std::string& path, std::string_view bytes) {
  if (!file || !write_all(file.get(), bytes) || !file.close()) return io_error(path, "written");
  return ok_status();
}

// The same, once the disk holds the bytes.
Status write_synced_and_close(Fd& file, const std::string& path, std::string_view bytes) {
  if (!file || !write_all(file.get(), bytes) || ::fsync(file.get()) != 0 || !file.close())
    return io_error(path, "written");
  return ok_status();
}

// Gives the file `beside` the name `path`, once it was written; else removes it.
Status put_in_place(const Status& written, const std::string& beside, const std::string& path) {
  if (!written) {
    ::unlink(beside.c_str());
    return written;
  }
  if (std::rename(beside.c_str(), path.c_str()) == 0) return ok_status();
  const Error error = io_error(path, "written");
  ::unlink(beside.c_str());
  return error;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Which file this is: the number of a file that was removed may be given to a new one.
std::optional<std::uint64_t> identity_of(int fd) {
  struct statx status {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) return std::nullopt;
  const auto born = static_cast<std::uint64_t>(status.stx_btime.tv_sec) * 1'000'000'000 +
                    status.stx_btime.tv_nsec;
  return status.stx_ino * 0x9e3779b97f4a7c15 ^ born;
}

}  // namespace

LineFile::LineFile(std::string path, Hold hold, Fd file, std::uint64_t written)
    : path_(std::move(path)), hold_(hold), written_(written) {
  if (hold == Hold::kOpen) file_ = std::move(file);
}

Result<LineFile> LineFile::create(std::string path, Hold hold) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | kAppends, 0644));
  if (!file) return io_error(path, "written");
  return LineFile(std::move(path), hold, std::move(file));
}

Result<LineFile> LineFile::extend(std::string path, Hold hold) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | kAppends, 0644));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return io_error(path, "written");
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  std::string end(std::min<std::uint64_t>(size, kLineBytesMax + 1), '\0');
  const std::uint64_t begin = size - end.size();
  std::size_t have = 0;
  while (have < end.size()) {
    const ssize_t count = read_some(file.get(), end.data() + have, end.size() - have, begin + have);
    if (count <= 0) return io_error(path, "read");
    have += static_cast<std::size_t>(count);
  }
  const std::size_t line_end = end.rfind('\n');
  const std::uint64_t kept = line_end == std::string::npos ? begin : begin + line_end + 1;
  if (kept < size && ::ftruncate(file.get(), static_cast<off_t>(kept)) != 0)
    return io_error(path, "written");
  return LineFile(std::move(path), hold, std::move(file), kept);
}

Status LineFile::append(std::string_view line) {
  if (failed_) return *failed_;
  buffer_ += line;
  buffer_ += '\n';
  return buffer_.size() < kBufferBytes ? ok_status() : flush();
}

// Lines in a file that was removed would be lost without a word.
Status LineFile::write(Fd& file) {
  struct stat status {};
  if (file && ::fstat(file.get(), &status) == 0 && status.st_nlink == 0) {
    errno = ENOENT;
    return io_error(path_, "written");
  }
  if (hold_ == Hold::kClosed) return write_and_close(file, path_, buffer_);
  return write_all(file.get(), buffer_) ? ok_status() : Status(io_error(path_, "written"));
}

Status LineFile::flush() {
  if (failed_) return *failed_;
  if (buffer_.empty()) return ok_status();
  Fd opened(hold_ == Hold::kOpen ? -1 : ::open(path_.c_str(), O_WRONLY | kAppends));
  Status written = write(hold_ == Hold::kOpen ? file_ : opened);
  if (!written.ok()) failed_ = written.error();
  written_ += buffer_.size();
  buffer_.clear();
  return written;
}

// What a checkpoint relies on is on the disk before it, under whatever name. The empty file is
// there before the full one is moved: without a descriptor for it all stays as it is.
Result<bool> LineFile::move_to(const std::string& path) {
  const std::string beside = path_ + ".tmp";
  Fd empty(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | kAppends, 0644));
  if (!empty && (errno == EMFILE || errno == ENFILE)) return false;
  if (!empty) return io_error(path_, "written");
  const auto moved = [&]() -> Status {
    if (Status written = flush(); !written) return written;
    if (hold_ == Hold::kClosed) {
      if (Status synced = sync_file(path_); !synced) return synced;
    } else if (::fsync(file_.get()) != 0) {
      return io_error(path_, "written");
    }
    if (std::rename(path_.c_str(), path.c_str()) != 0 ||
        std::rename(beside.c_str(), path_.c_str()) != 0)
      return io_error(path_, "written");
    return ok_status();
  };
  if (Status done = moved(); !done) {
    ::unlink(beside.c_str());
    failed_ = done.error();  // a line more would go to a file of another name
    return done.error();
  }
  if (hold_ == Hold::kOpen) file_ = std::move(empty);
  written_ = 0;
  return true;
}

// Reads on in the file at `path`, if that is the one that is being read, or if none is.
Result<bool> LineFollower::read_more_of(const std::string& path, bool& is_other) {
  is_other = false;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return false;
    return io_error(path, "read");
  }
  const auto identity = identity_of(file.get());
  if (!identity) return io_error(path, "read");
  is_other = file_ && *file_ != *identity;
  if (is_other) return false;
  file_ = *identity;
  reads_earlier_ = path == earlier_;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const ssize_t count = read_some(file.get(), buffer_.data() + before, kReadBytes, offset_);
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) return io_error(path, "read");
  offset_ += static_cast<std::uint64_t>(count);
  return count > 0;
}

Result<bool> LineFollower::read_more() {
  buffer_.erase(0, taken_);
  taken_ = 0;
  bool is_other = false, earlier_is_other = false;
  if (earlier_.empty()) return read_more_of(path_, is_other);
  if (const auto more = read_more_of(earlier_, earlier_is_other); !more || *more) return more;
  if (const auto more = read_more_of(path_, is_other); !more || *more || !is_other) return more;
  // The file that was read has its other name, and was read to its end, or is gone.
  file_.reset();
  offset_ = 0;
  line_ = 0;
  passes_over_ = false;
  buffer_.clear();
  if (!earlier_is_other) return read_more_of(path_, is_other);
  if (const auto more = read_more_of(earlier_, is_other); !more || *more) return more;
  return read_more_of(path_, is_other);
}

Result<std::optional<std::string>> LineFollower::next() {
  std::size_t searched = taken_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::size_t begin = std::exchange(taken_, searched = end + 1);
      if (std::exchange(passes_over_, false)) continue;
      ++line_;
      return std::optional(buffer_.substr(begin, end - begin));
    }
    if (passes_over_) taken_ = buffer_.size();
    if (buffer_.size() - taken_ > kLineBytesMax) {
      passes_over_ = true;
      taken_ = buffer_.size();
      return Error{ErrorCode::kMalformed, fmt::format("{}:{}: the line is longer than {} bytes",
                                                      path(), ++line_, kLineBytesMax)};
    }
    const auto more = read_more();
    searched = taken_;  // it may have gone over to another file
    if (!more) return more.error();
    if (*more) continue;
    // A line that has no end yet is read again: a writer that goes on may have cut it off.
    offset_ -= buffer_.size() - taken_;
    buffer_.resize(taken_);
    return std::optional<std::string>();
  }
}

Status write_whole(const std::string& path, std::string_view text) {
  const std::string beside = path + ".tmp";
  Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  return put_in_place(write_and_close(file, path, text), beside, path);
}

// Each writer takes a temporary name that nobody has. Those whose writers were killed stay.
Status write_shared(const std::string& path, std::string_view text) {
  constexpr unsigned kNamesMax = 1000;  // far more than writers
  std::string beside;
  Fd file;
  for (unsigned name = 0; name < kNamesMax && !file; ++name) {
    beside = fmt::format("{}.{}.tmp", path, name);
    file = Fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file && errno != EEXIST) break;
  }
  if (!file) return io_error(path, "written");
  const Status written = write_synced_and_close(file, path, text);
  if (Status placed = put_in_place(written, beside, path); !placed) return placed;
  return sync_folder_of(path);
}

Status sync_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return ok_status();
  if (!file || ::fsync(file.get()) != 0) return io_error(path, "written");
  return ok_status();
}

Status sync_folder_of(const std::string& path) {
  return sync_file(path.substr(0, path.rfind('/') + 1) + ".");
}

Status write_whole(const std::string& path, std::span<const std::byte> bytes) {
  return write_whole(path, text_of(bytes));
}

// A pipe tells no size, and one without a writer would keep who opens it waiting.
Result<std::string> read_whole(const std::string& path, std::size_t bytes_max) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return io_error(path, "read");
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kIo,
                 fmt::format("{} cannot be read: it is {}", path,
                             S_ISDIR(status.st_mode) ? "a folder" : "no regular file")};
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size > bytes_max)
    return Error{ErrorCode::kIo,
                 fmt::format("{} holds {} bytes; at most {} are read", path, size, bytes_max)};
  std::string text(size, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t count = read_some(file.get(), text.data() + have, text.size() - have, have);
    if (count < 0) return io_error(path, "read");
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  text.resize(have);
  return text;
}

std::string last_lines(const std::string& path, std::size_t lines) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return "";
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  std::string text(std::min<std::uint64_t>(size, kLastBytesMax), '\0');
  const ssize_t count = read_some(file.get(), text.data(), text.size(), size - text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t i = 0; i < lines && begin != std::string::npos && begin > 0; ++i)
    begin = text.rfind('\n', begin - 1);
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

}  // namespace kimesh
