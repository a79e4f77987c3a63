// kind: npy. Arrays of NumPy (numpy.lib.format, versions 1 to 3): "\x93NUMPY", version, length of
// the head, and a Python dictionary of type, order and sizes; then the numbers. Images are
// [n][features], [n][height][width] or [n][channels][height][width], labels [n] whole numbers from
// 0. Bytes become -1 to 1, other numbers stay as they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <regex>

#include "array_samples.h"
#include "byte_file.h"
#include "kimesh/config/keys.h"
#include "limits.h"

namespace kimesh {
namespace {

constexpr const char* kNpyRemedy =
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
  auto file = ByteFile::open(path, kNpyRemedy);
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

class Npy final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.require("path", "path: with the folder that holds images.npy and labels.npy");
    keys.path("path", path_,
              "folder that holds images.npy, labels.npy and, without test_share, test_images.npy "
              "and test_labels.npy");
    keys.number("test_share", test_share_, limits::kTestShares, limits::kTestShareHelp);
  }

  std::vector<NeededFile> files() const override {
    const std::string remedy = "Point data.path at a folder of arrays that numpy.save has written";
    std::vector<NeededFile> files{{path_, true, remedy}};
    for (const char* name : {"images.npy", "labels.npy"})
      files.push_back({path_ + "/" + name, false, remedy});
    if (test_share_) return files;
    for (const char* name : {"test_images.npy", "test_labels.npy"})
      files.push_back({path_ + "/" + name, false, remedy + ", or write a test_share"});
    return files;
  }

  Result<OpenedData> open() const override {
    auto train = npy_pair(path_, "", 0);
    if (!train) return train.error();
    if (test_share_) return OpenedData{std::move(*train), nullptr, *test_share_};
    auto test = npy_pair(path_, "test_", (*train)->shape().classes);
    if (!test) return test.error();
    return OpenedData{std::move(*train), std::move(*test)};
  }

 private:
  std::string path_;
  std::optional<double> test_share_;  // without it the test set has files of its own
};

}  // namespace

extern const Kind<DataKind> kNpy;
const Kind<DataKind> kNpy = {"npy", "arrays of NumPy", make_options<Npy, DataKind>};

}  // namespace kimesh
