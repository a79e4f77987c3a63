// Keeps a second process, and a second mesh of this one, from a node's files in a run's folder.
#pragma once

#include <string>

#include "kimesh/util/fd.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Held by the process that writes the files, and not by those that it forks; the system takes it
// back where the process dies. The lock's file is gone where it was let go in order.
class NodeLock {
 public:
  // `path`: the lock's own file, whose folder exists, by the same name in this process each time. A
  // file system that knows no locks keeps no other process out. Errors: Io (somebody holds it: who
  // tries again later may get it; or the file cannot be made).
  [[nodiscard]] static Result<NodeLock> take(const std::string& path);
  NodeLock(NodeLock&&) noexcept = default;
  NodeLock& operator=(NodeLock&&) = delete;
  ~NodeLock();

 private:
  NodeLock(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Fd file_;
};

}  // namespace kimesh
