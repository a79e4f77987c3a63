#include "kimesh/util/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kimesh/util/fd.h"

namespace kimesh {
namespace {

Error wrong(std::string sentence) {
  return {ErrorCode::kUserInput, std::move(sentence)};
}

// Of the file that is open, so that nobody can swap it between the look and the reading.
Status check_privacy(int fd, const PrivateFile& file) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return wrong(fmt::format("{} is no file. Write there the {}.", file.path, file.what));
  const bool roots = info.st_uid == 0 && ::geteuid() != 0;
  const mode_t others = roots ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((info.st_mode & others) == 0) return ok_status();
  return wrong(
      fmt::format("{0} has mode {1:04o}: others on this machine can read the {2}. "
                  "Write chmod 600 {0}, and renew the {2} if somebody may have read it.",
                  file.path, info.st_mode & 07777u, file.what));
}

}  // namespace

Result<std::string> read_private_file(const PrivateFile& file) {
  const Fd open(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!open)
    return wrong(fmt::format("the {} {} cannot be read: {}. {}", file.what, file.path,
                             std::strerror(errno), file.remedy));
  if (const Status is_private = check_privacy(open.get(), file); !is_private)
    return is_private.error();
  std::string text(file.bytes_max, '\0');
  const ssize_t size = ::read(open.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace kimesh
