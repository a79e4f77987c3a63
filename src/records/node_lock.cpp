#include "kimesh/records/node_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "io_error.h"

namespace kimesh {
namespace {

// The system's locks are those of a process, whose own nodes they do not keep apart. Never
// destroyed, since a thread that hangs may outlive main.
struct OwnLocks {
  std::mutex mutex;
  std::vector<std::string> paths;
};
OwnLocks& own_locks() {
  static auto* locks = new OwnLocks;
  return *locks;
}

Error held(const std::string& path) {
  return {ErrorCode::kIo, path +
                              " is held by another process or mesh, which trains this node. Stop "
                              "that one first, or name another folder."};
}

bool knows_no_locks(int code) {
  return code == ENOLCK || code == EINVAL || code == ENOSYS || code == EOPNOTSUPP;
}

// Whether `path` still names the file. Its last holder has removed it otherwise, between the time
// when it was opened here and that when it was locked.
bool is_named(const Fd& file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Requires that this process holds no lock of the file.
Result<Fd> lock(const std::string& path) {
  for (;;) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return io_error(path, "made");
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_SETLK, &whole) != 0) {
      if (errno == EAGAIN || errno == EACCES) return held(path);
      if (!knows_no_locks(errno)) return io_error(path, "locked");
      return file;
    }
    if (is_named(file, path)) return file;
  }
}

}  // namespace

Result<NodeLock> NodeLock::take(const std::string& path) {
  OwnLocks& own = own_locks();
  const std::lock_guard only(own.mutex);
  // An open file that is closed would let go of the lock that this process has.
  if (std::ranges::find(own.paths, path) != own.paths.end()) return held(path);
  auto file = lock(path);
  if (!file) return file.error();
  own.paths.push_back(path);
  return NodeLock(path, std::move(*file));
}

NodeLock::~NodeLock() {
  if (!file_) return;
  OwnLocks& own = own_locks();
  const std::lock_guard only(own.mutex);
  ::unlink(path_.c_str());
  std::erase(own.paths, path_);
  file_ = Fd();
}

}  // namespace kimesh
