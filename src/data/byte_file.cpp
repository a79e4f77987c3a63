#include "byte_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace kimesh {

Error refused_file(const std::string& path, const std::string& why, const std::string& remedy) {
  return {ErrorCode::kUserInput, fmt::format("{}: {}. {}.", path, why, remedy)};
}

Result<ByteFile> ByteFile::open(std::string path, std::string remedy) {
  ByteFile file;
  file.path_ = std::move(path);
  file.remedy_ = std::move(remedy);
  std::error_code trouble;
  file.size_ = std::filesystem::file_size(file.path_, trouble);  // refuses folders
  if (trouble) return file.refuse("the file cannot be read (" + trouble.message() + ")");
  file.file_.reset(std::fopen(file.path_.c_str(), "rb"));
  if (!file.file_)
    return file.refuse(fmt::format("the file cannot be read ({})", std::strerror(errno)));
  // A buffer would read on into samples that nobody asked for.
  std::setvbuf(file.file_.get(), nullptr, _IONBF, 0);
  return file;
}

Status ByteFile::read_at(std::uint64_t offset, std::span<std::uint8_t> out) {
  if (::fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0 ||
      std::fread(out.data(), 1, out.size(), file_.get()) != out.size())
    return refuse(fmt::format("reading {} bytes at byte {} fails", out.size(), offset));
  return ok_status();
}

}  // namespace kimesh
