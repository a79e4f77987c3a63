#include "kimesh/records/node_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "io_error.h"

namespace kimesh {
namespace {

// Whether `path` still names the file. Its last holder removed it between our opening and locking
// it otherwise.
bool is_named(const Fd& file, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

Result<NodeLock> NodeLock::take(const std::string& path) {
  for (;;) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return io_error(path, "made");
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_SETLK, &whole) != 0) {
      if (errno == EAGAIN || errno == EACCES)
        return Error{ErrorCode::kIo, path +
                                         " is held by another process, which trains this node. "
                                         "Stop that one first, or name another folder."};
      return NodeLock(path, Fd());
    }
    if (is_named(file, path)) return NodeLock(path, std::move(file));
  }
}

NodeLock::~NodeLock() {
  if (file_) ::unlink(path_.c_str());
}

}  // namespace kimesh
