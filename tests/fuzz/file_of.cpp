#include "tests/fuzz/file_of.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kimesh/util/check.h"

namespace kimesh::fuzz {
namespace {

struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("kimesh-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code gone_already;
    std::filesystem::remove_all(path, gone_already);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

}  // namespace

const std::string& folder() {
  static const Folder folder;
  return folder.path;
}

std::string file_of(const std::string& name, Input input) {
  const std::string path = folder() + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
  KIMESH_CHECK(file.flush().good(), "the temporary folder takes the input");
  return path;
}

Bytes bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

Bytes shipped(const std::string& path) {
  std::ifstream file(KIMESH_SOURCE_DIR "/" + path, std::ios::binary);
  KIMESH_CHECK(file.good(), "there is no " + path);
  return bytes_of(std::string{std::istreambuf_iterator<char>(file), {}});
}

}  // namespace kimesh::fuzz
