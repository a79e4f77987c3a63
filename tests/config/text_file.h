// A file that lives as long as a test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kimesh {

class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text)
      : path_(testing::TempDir() + "kimesh-" + std::to_string(::getpid()) + "-" + name) {
    write(text);
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name() const { return std::filesystem::path(path_).filename(); }

 private:
  std::string path_;
};

}  // namespace kimesh
