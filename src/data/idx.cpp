// kind: idx. The files of MNIST: two zeros, a type (8: bytes), the number of dimensions, their
// sizes as 32-bit big-endian numbers, then the bytes.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "array_samples.h"
#include "byte_file.h"
#include "kimesh/config/keys.h"
#include "limits.h"

namespace kimesh {
namespace {

constexpr const char* kIdxRemedy =
    "Point data.path at a folder with the unpacked files of MNIST (gzip -d)";

Result<NumberArray> idx_array(const std::string& path, std::size_t dimensions) {
  auto file = ByteFile::open(path, kIdxRemedy);
  if (!file) return file.error();
  NumberArray array{path, 4 + 4 * dimensions, {}, 'u', 1};
  std::array<std::uint8_t, 16> head{};
  if (file->size() < array.begin) return file->refuse("it ends within its head");
  if (const Status read = file->read_at(0, std::span(head).first(array.begin)); !read.ok())
    return read.error();
  if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] != dimensions)
    return file->refuse(fmt::format("it does not begin as an idx file of bytes in {} dimension{}",
                                    dimensions, dimensions == 1 ? "" : "s"));
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::uint64_t size = 0;
    for (std::size_t k = 0; k < 4; ++k) size = size << 8 | head[4 + 4 * i + k];
    array.sizes.push_back(size);
  }
  return array;
}

Result<std::shared_ptr<const StoredSamples>> idx_pair(const std::string& folder,
                                                      const std::string& set,
                                                      std::int64_t classes) {
  const auto path = [&](const char* end) {
    return (std::filesystem::path(folder) / (set + end)).string();
  };
  const auto images = idx_array(path("-images-idx3-ubyte"), 3);
  if (!images) return images.error();
  const auto labels = idx_array(path("-labels-idx1-ubyte"), 1);
  if (!labels) return labels.error();
  return stored_in_arrays(*images, *labels, classes);
}

class Idx final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.require("path", "path: with the folder that holds train-images-idx3-ubyte");
    keys.path("path", path_,
              "folder that holds train-*-ubyte and, without test_share, t10k-*-ubyte");
    keys.number("test_share", test_share_, limits::kTestShares, limits::kTestShareHelp);
  }

  std::vector<NeededFile> files() const override {
    std::vector<NeededFile> files{{path_, true, kIdxRemedy}};
    for (const char* set : {"train", "t10k"})
      for (const char* end : {"-images-idx3-ubyte", "-labels-idx1-ubyte"})
        if (!test_share_ || set == std::string_view("train"))
          files.push_back({path_ + "/" + set + end, false, kIdxRemedy});
    return files;
  }

  Result<OpenedData> open() const override {
    auto train = idx_pair(path_, "train", 0);
    if (!train) return train.error();
    if (test_share_) return OpenedData{std::move(*train), nullptr, *test_share_};
    auto test = idx_pair(path_, "t10k", (*train)->shape().classes);
    if (!test) return test.error();
    return OpenedData{std::move(*train), std::move(*test)};
  }

 private:
  std::string path_;
  std::optional<double> test_share_;  // without it the test set has files of its own
};

}  // namespace

extern const Kind<DataKind> kIdx;
const Kind<DataKind> kIdx = {"idx", "the files of MNIST, unpacked", make_options<Idx, DataKind>};

}  // namespace kimesh
