#include "kimesh/records/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "io_error.h"
#include "kimesh/records/text_file.h"
#include "kimesh/util/check.h"
#include "kimesh/util/fd.h"

namespace kimesh {
namespace {

// What O_DIRECT asks of memory, offsets and sizes: a page, which holds any disk's sector.
constexpr std::size_t kDirectAlignment = 4096;

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{kDirectAlignment}); }
};
using AlignedPiece = std::unique_ptr<std::byte, FreeAligned>;

AlignedPiece make_piece() {
  return AlignedPiece(static_cast<std::byte*>(
      ::operator new (kFilePieceBytes, std::align_val_t{kDirectAlignment})));
}

// Leaves in `bytes` what was not written.
bool write_all(int fd, std::span<const std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// From here on writes go through the kernel's memory, of any size and from anywhere.
bool end_direct(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

}  // namespace

struct DurableFile::State {
  std::string path, beside;
  Fd fd;
  bool is_direct = true;
  AlignedPiece piece = make_piece();
  std::size_t filled = 0;

  explicit State(std::string the_path) : path(std::move(the_path)), beside(path + ".tmp") {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (fd) ::unlink(beside.c_str());
  }

  bool open() {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    fd = Fd(::open(beside.c_str(), kFlags | O_DIRECT, 0644));
    if (fd || errno != EINVAL) return static_cast<bool>(fd);
    is_direct = false;  // a file system in memory, say
    fd = Fd(::open(beside.c_str(), kFlags, 0644));
    return static_cast<bool>(fd);
  }

  // Writes what the piece holds. Only the file's last piece is not a full one.
  bool write_piece() {
    std::span<const std::byte> bytes(piece.get(), std::exchange(filled, 0));
    if (is_direct && bytes.size() % kDirectAlignment == 0) {
      if (write_all(fd.get(), bytes)) return true;
      if (errno != EINVAL) return false;
    }
    if (std::exchange(is_direct, false) && !end_direct(fd.get())) return false;
    return write_all(fd.get(), bytes);
  }
};

DurableFile::DurableFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
DurableFile::DurableFile(DurableFile&&) noexcept = default;
DurableFile& DurableFile::operator=(DurableFile&&) noexcept = default;
DurableFile::~DurableFile() = default;

Result<DurableFile> DurableFile::create(std::string path) {
  auto state = std::make_unique<State>(std::move(path));
  if (!state->open()) return io_error(state->path, "written");
  return DurableFile(std::move(state));
}

Status DurableFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kFilePieceBytes - state_->filled);
    std::memcpy(state_->piece.get() + state_->filled, bytes.data(), size);
    state_->filled += size;
    bytes = bytes.subspan(size);
    if (state_->filled == kFilePieceBytes && !state_->write_piece())
      return io_error(state_->path, "written");
  }
  return ok_status();
}

Status DurableFile::commit() {
  if (!state_->write_piece() || ::fsync(state_->fd.get()) != 0)
    return io_error(state_->path, "written");
  if (std::rename(state_->beside.c_str(), state_->path.c_str()) != 0)
    return io_error(state_->path, "written");
  if (!state_->fd.close()) return io_error(state_->path, "written");
  return sync_folder_of(state_->path);
}

Status write_durable(const std::string& path, std::span<const std::byte> bytes) {
  auto file = DurableFile::create(path);
  if (!file) return file.error();
  if (Status appended = file->append(bytes); !appended) return appended;
  return file->commit();
}

struct PieceReader::State {
  std::string path;
  Fd fd;
  std::size_t size = 0, offset = 0;  // offset: of the next byte
  AlignedPiece piece = make_piece();
  std::size_t piece_begin = 0, piece_end = 0;  // offsets of what the piece holds

  explicit State(std::string the_path) : path(std::move(the_path)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool fill_piece() {
    piece_begin = piece_end = offset;
    const std::size_t wanted = std::min(kFilePieceBytes, size - offset);
    while (piece_end - piece_begin < wanted) {
      const std::size_t have = piece_end - piece_begin;
      const ssize_t count =
          ::pread(fd.get(), piece.get() + have, wanted - have, static_cast<off_t>(piece_end));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      if (count == 0) {
        errno = EIO;  // it has become shorter
        return false;
      }
      piece_end += static_cast<std::size_t>(count);
    }
    return true;
  }
};

PieceReader::PieceReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
PieceReader::PieceReader(PieceReader&&) noexcept = default;
PieceReader& PieceReader::operator=(PieceReader&&) noexcept = default;
PieceReader::~PieceReader() = default;

Result<PieceReader> PieceReader::open(const std::string& path) {
  auto state = std::make_unique<State>(path);
  state->fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!state->fd || ::fstat(state->fd.get(), &status) != 0) return io_error(path, "read");
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kIo, path + " cannot be read: it is no file"};
  state->size = static_cast<std::size_t>(status.st_size);
  return PieceReader(std::move(state));
}

std::size_t PieceReader::left() const {
  return state_->size - state_->offset;
}

Status PieceReader::read(std::span<std::byte> to) {
  KIMESH_CHECK(to.size() <= left(), "as many bytes as are left");
  while (!to.empty()) {
    const bool is_held =
        state_->offset >= state_->piece_begin && state_->offset < state_->piece_end;
    if (!is_held && !state_->fill_piece()) return io_error(state_->path, "read");
    const std::size_t size = std::min(to.size(), state_->piece_end - state_->offset);
    std::memcpy(to.data(), state_->piece.get() + (state_->offset - state_->piece_begin), size);
    state_->offset += size;
    to = to.subspan(size);
  }
  return ok_status();
}

void PieceReader::go_to(std::size_t offset) {
  KIMESH_CHECK(offset <= state_->size, "a place in the file");
  state_->offset = offset;
}

}  // namespace kimesh
