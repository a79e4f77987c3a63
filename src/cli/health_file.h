// The file by which others see whether a node hangs: one line, `UNTIL SENTENCE`. By UNTIL, seconds
// of Unix time, the node has written the file again or has ended; SENTENCE says what it waits for.
// docker/healthy.sh reads it.
#pragma once

#include <string>

#include "kimesh/util/ids.h"

namespace kimesh::cli {

class HealthFile {
 public:
  explicit HealthFile(std::string path) : path_(std::move(path)) {}
  // Writes the file at the start of the program, before this reads its data.
  void write_start();
  // Replaces the file as a whole. Complains once where it cannot: whoever looks sees an old one.
  void write(TimePoint until, const std::string& what);

 private:
  std::string path_;
  bool has_complained_ = false;
};

}  // namespace kimesh::cli
