// Arrays of NumPy (numpy.lib.format, versions 1 to 3): "\x93NUMPY", version, length of the head,
// and a Python dictionary of type, order and sizes; then the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <regex>

#include "array_samples.h"
#include "byte_file.h"

namespace kimesh {
namespace {

constexpr const char* kRemedy =
    "Save it with numpy.save, little-endian and in C order (numpy.ascontiguousarray)";
constexpr std::size_t kHeadBytesMax = 4096;  // NumPy writes 128

Result<std::string> npy_head(ByteFile& file, std::uint64_t& begin) {
  std::array<std::uint8_t, 12> start{};
  if (file.size() < start.size()) return file.refuse("it is too short for an array of NumPy");
  if (const Status read = file.read_at(0, start); !read.ok()) return read.error();
  if (std::string(start.begin(), start.begin() + 6) != "\x93NUMPY" || start[6] < 1 || start[6] > 3)
    return file.refuse("it does not begin as an array of NumPy, version 1 to 3");
  std::uint64_t length = start[8] | start[9] << 8;
  begin = 10;
  if (start[6] > 1) {
    length |= std::uint64_t{start[10]} << 16 | std::uint64_t{start[11]} << 24;
    begin = 12;
  }
  if (length > kHeadBytesMax || begin + length > file.size())
    return file.refuse(
        fmt::format("its head of {} bytes is not whole or over {}", length, kHeadBytesMax));
  std::vector<std::uint8_t> text(length);
  if (const Status read = file.read_at(begin, text); !read.ok()) return read.error();
  begin += length;
  return std::string(text.begin(), text.end());
}

Result<NumberArray> npy_array(const std::string& path) {
  auto file = ByteFile::open(path, kRemedy);
  if (!file) return file.error();
  NumberArray array{path, 0, {}, 'u', 1};
  const auto head = npy_head(*file, array.begin);
  if (!head) return head.error();
  static const std::regex type(R"('descr': *'([<|])([uif])([1248])')");
  static const std::regex order(R"('fortran_order': *False)");
  static const std::regex sizes(R"('shape': *\(([0-9, ]{1,100})\))");
  std::smatch found;
  if (!std::regex_search(*head, found, type))
    return file->refuse("its numbers are not whole or floating-point ones in little-endian order");
  array.kind = found[2].str()[0];
  array.bytes = static_cast<std::size_t>(found[3].str()[0] - '0');
  if (!std::regex_search(*head, order)) return file->refuse("it is not in C order");
  if (!std::regex_search(*head, found, sizes)) return file->refuse("its head names no sizes");
  const std::string list = found[1];
  for (const char* at = list.data(); at < list.data() + list.size();) {
    std::uint64_t size = 0;
    const auto parsed = std::from_chars(at, list.data() + list.size(), size);
    if (parsed.ec == std::errc::result_out_of_range) return file->refuse("its sizes are too large");
    if (parsed.ec == std::errc()) array.sizes.push_back(size);
    at = parsed.ec == std::errc() ? parsed.ptr : at + 1;
  }
  if (array.sizes.empty()) return file->refuse("its head names no sizes");
  return array;
}

Result<std::shared_ptr<const StoredSamples>> npy_pair(const std::string& folder,
                                                      const std::string& set,
                                                      std::int64_t classes) {
  const std::filesystem::path base(folder);
  const auto images = npy_array((base / (set + "images.npy")).string());
  if (!images) return images.error();
  const auto labels = npy_array((base / (set + "labels.npy")).string());
  if (!labels) return labels.error();
  return stored_in_arrays(*images, *labels, classes);
}

}  // namespace

std::vector<NeededFile> files_of_npy(const DataConfig& config) {
  const std::string remedy = "Point data.path at a folder of arrays that numpy.save has written";
  std::vector<NeededFile> files{{config.path, true, remedy}};
  for (const char* name : {"images.npy", "labels.npy"})
    files.push_back({config.path + "/" + name, false, remedy});
  if (config.test_share > 0) return files;
  for (const char* name : {"test_images.npy", "test_labels.npy"})
    files.push_back({config.path + "/" + name, false, remedy + ", or write a test_share"});
  return files;
}

Result<OpenedData> open_npy(const DataConfig& config) {
  auto train = npy_pair(config.path, "", 0);
  if (!train) return train.error();
  if (config.test_share > 0) return OpenedData{std::move(*train), nullptr};
  auto test = npy_pair(config.path, "test_", (*train)->shape().classes);
  if (!test) return test.error();
  return OpenedData{std::move(*train), std::move(*test)};
}

}  // namespace kimesh
