// The lines of a file's keys, for sentences about problems that only several sections or files
// together show.
#pragma once

#include <map>
#include <string>

namespace kimesh {

class Places {
 public:
  Places() = default;
  explicit Places(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] const std::string& file() const { return file_; }
  // Notes the line of `key`, which is written with the sections around it: "compression.policy".
  void set(const std::string& key, int line) { lines_[key] = line; }
  [[nodiscard]] bool is_given(const std::string& key) const { return lines_.contains(key); }
  // The line of the key; where the file has no such key, the line of the closest section around it;
  // else 0.
  [[nodiscard]] int line(const std::string& key) const {
    for (std::string name = key;;) {
      if (const auto found = lines_.find(name); found != lines_.end()) return found->second;
      const std::size_t dot = name.rfind('.');
      if (dot == std::string::npos) return 0;
      name.resize(dot);
    }
  }

 private:
  std::string file_;
  std::map<std::string, int> lines_;
};

}  // namespace kimesh
