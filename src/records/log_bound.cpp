#include "kimesh/records/log_bound.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "io_error.h"
#include "kimesh/records/text_file.h"
#include "kimesh/util/fd.h"
#include "kimesh/util/units.h"

namespace kimesh {
namespace {

// The bytes behind `begin`, from the first line that begins there.
Result<std::string> lines_from(int file, std::uint64_t begin, std::uint64_t size,
                               const std::string& path) {
  std::string text(size - begin, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t count =
        ::pread(file, text.data() + have, text.size() - have, static_cast<off_t>(begin + have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error(path, "cut");
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  text.resize(have);
  return text.substr(text.find('\n') + 1);  // all of it, where there is no line's end
}

}  // namespace

Status bound_log(const std::string& path, const LogBound& bound) {
  const Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  struct stat status {};
  if (!file && errno == ENOENT) return ok_status();
  if (!file || ::fstat(file.get(), &status) != 0) return io_error(path, "cut");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size <= bound.bytes_max) return ok_status();
  const auto last = lines_from(file.get(), size - bound.bytes_kept, size, path);
  if (!last) return last.error();
  if (const Status kept = write_whole(path + ".1", std::string_view(*last)); !kept) return kept;
  const std::string said =
      fmt::format("kimesh: this log had grown over {} and was cut: its last {} are in {}.1\n",
                  format_bytes(static_cast<double>(bound.bytes_max)),
                  format_bytes(static_cast<double>(last->size())), path);
  const bool cut = ::ftruncate(file.get(), 0) == 0 &&
                   ::write(file.get(), said.data(), said.size()) == std::ssize(said);
  return cut ? ok_status() : Status(io_error(path, "cut"));
}

}  // namespace kimesh
