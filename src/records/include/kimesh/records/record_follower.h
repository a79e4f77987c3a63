// The records of a node, read while it writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kimesh/records/recorder.h"
#include "kimesh/records/text_file.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Lines that are damaged, such as those that a loss of power has torn, are left out. Thread: one at
// a time.
class RecordFollower {
 public:
  // RunFolder::events() and earlier_events() of the node.
  RecordFollower(std::string path, std::string earlier)
      : lines_(std::move(path), std::move(earlier)) {}

  // The next record; damaged lines before it are left out. Nothing: there is no further one yet, or
  // no file. Errors: Io.
  [[nodiscard]] Result<std::optional<NodeRecord>> next();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // read, about
  // The number of damaged lines so far, by the name that their file had then.
  [[nodiscard]] const std::map<std::string, std::size_t>& damaged() const { return damaged_; }
  // "FILE:LINE: what is wrong with it" of the first damaged line; empty: there was none.
  [[nodiscard]] const std::string& first_damage() const { return first_damage_; }
  // Once, after a damaged line was left out: a sentence that says so.
  [[nodiscard]] std::optional<std::string> complaint();

 private:
  void leave_out(std::string damage);
  LineFollower lines_;
  std::uint64_t bytes_ = 0;
  std::map<std::string, std::size_t> damaged_;
  std::string first_damage_;
  bool has_complained_ = false;
};

}  // namespace kimesh
