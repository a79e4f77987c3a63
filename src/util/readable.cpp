#include "kimesh/util/readable.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "kimesh/util/fd.h"

namespace kimesh {

// The type comes first: opening a pipe waits for its writer.
std::optional<std::string> why_unreadable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (!S_ISREG(status.st_mode)) return "it is a pipe or a device";
  if (!Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))) return std::strerror(errno);
  return std::nullopt;
}

}  // namespace kimesh
