// A file that is read at places: exactly the bytes that are asked for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "kimesh/util/result.h"

namespace kimesh {

// "PATH: WHY. REMEDY." as a user's mistake. Neither ends with a full stop.
[[nodiscard]] Error refused_file(const std::string& path, const std::string& why,
                                 const std::string& remedy);

class ByteFile {
 public:
  // `remedy` ends every sentence about this file. Errors: UserInput.
  [[nodiscard]] static Result<ByteFile> open(std::string path, std::string remedy);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::uint8_t> out);
  [[nodiscard]] Error refuse(const std::string& why) const {
    return refused_file(path_, why, remedy_);
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_, remedy_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::uint64_t size_ = 0;
};

}  // namespace kimesh
