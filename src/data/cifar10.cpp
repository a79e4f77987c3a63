// kind: cifar10. The binary version of CIFAR-10: records of 3073 bytes, a label and 3 x 32 x 32
// pixels. The sizes of the files say how many there are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "byte_file.h"
#include "kimesh/config/keys.h"
#include "stored_samples.h"

namespace kimesh {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCifarSide = 32;
constexpr std::size_t kPixels = 3 * kCifarSide * kCifarSide;
constexpr std::size_t kRecordBytes = 1 + kPixels;
constexpr std::size_t kFileRecordsMax = 100'000;  // ten times the original
constexpr std::size_t kFilesMax = 100;
constexpr std::uint8_t kClasses = 10;
constexpr const char* kCifarRemedy = "Point data.path at the unpacked CIFAR-10 binary version";

// Mean and standard deviation of the training set's channels, of pixels scaled to [0, 1].
constexpr std::array<float, 3> kMean{0.4914f, 0.4822f, 0.4465f};
constexpr std::array<float, 3> kDeviation{0.2470f, 0.2435f, 0.2616f};

Error refuse(const fs::path& path, const std::string& why) {
  return refused_file(path.string(), why, kCifarRemedy);
}

class Cifar10Samples : public StoredSamples {
 public:
  const SampleShape& shape() const override { return shape_; }
  const SampleClasses& classes() const override { return classes_; }

  Result<SampleScale> scale(std::span<const std::uint32_t>) const override {
    SampleScale scale;
    for (std::size_t c = 0; c < 3; ++c) {
      scale.scale.push_back(1.0f / (255.0f * kDeviation[c]));
      scale.offset.push_back(-kMean[c] / kDeviation[c]);
    }
    return scale;
  }

  // The labels stand between the pixels: a byte of every record is read.
  Status append_file(const fs::path& path) {
    auto file = ByteFile::open(path.string(), kCifarRemedy);
    if (!file) return file.error();
    const std::uint64_t records = file->size() / kRecordBytes;
    if (file->size() % kRecordBytes != 0 || records == 0 || records > kFileRecordsMax)
      return file->refuse(fmt::format("{} bytes are not 1 to {} records of {} bytes", file->size(),
                                      kFileRecordsMax, kRecordBytes));
    files_.push_back({path, classes_.samples()});
    for (std::size_t i = 0; i < records; ++i) {
      std::uint8_t label = 0;
      if (const Status read = file->read_at(i * kRecordBytes, {&label, 1}); !read.ok()) return read;
      if (label >= kClasses)
        return file->refuse(fmt::format("record {} has the label {}, over 9", i, label));
      classes_.labels.push_back(label);
    }
    return ok_status();
  }

  Status read(std::span<const std::uint32_t> samples, Dataset& out) const override {
    out.pixels.resize(samples.size() * kPixels);
    for (std::size_t f = 0; f < files_.size(); ++f) {
      auto file = ByteFile::open(files_[f].path.string(), kCifarRemedy);
      if (!file) return file.error();
      const std::size_t first = files_[f].first;
      const std::size_t end = f + 1 < files_.size() ? files_[f + 1].first : classes_.samples();
      for (std::size_t k = 0; k < samples.size(); ++k) {
        if (samples[k] < first || samples[k] >= end) continue;
        const std::uint64_t at = (samples[k] - first) * kRecordBytes + 1;
        const auto pixels = std::span(out.pixels).subspan(k * kPixels, kPixels);
        if (const Status status = file->read_at(at, pixels); !status.ok()) return status;
      }
    }
    return ok_status();
  }

 private:
  struct File {
    fs::path path;
    std::size_t first;  // number of its first sample
  };
  SampleShape shape_{SampleShape::Kind::kImage, 3, kCifarSide, kCifarSide, 0, 0, kClasses};
  SampleClasses classes_{{}, kClasses};
  std::vector<File> files_;
};

// data_batch_*.bin, sorted by name.
Result<std::vector<fs::path>> training_files(const fs::path& folder) {
  std::error_code trouble;
  std::vector<fs::path> files;
  fs::directory_iterator entries(folder, trouble);
  if (trouble) return refuse(folder, "the folder cannot be read (" + trouble.message() + ")");
  for (; entries != fs::directory_iterator(); entries.increment(trouble)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) files.push_back(entries->path());
    if (trouble || files.size() > kFilesMax) break;
  }
  if (trouble) return refuse(folder, "the folder cannot be read (" + trouble.message() + ")");
  if (files.empty()) return refuse(folder, "there is no data_batch_1.bin");
  if (files.size() > kFilesMax) return refuse(folder, "there are over 100 training files");
  std::sort(files.begin(), files.end());
  return files;
}

class Cifar10 final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.require("path", "path: with the folder that holds data_batch_1.bin");
    keys.path("path", path_, "folder that holds data_batch_*.bin and test_batch.bin");
    keys.refuse({"test_share"}, "kind: cifar10, whose test set is a file of its own");
  }
  std::optional<std::int64_t> image_side() const override { return kCifarSide; }

  std::vector<NeededFile> files() const override {
    std::vector<NeededFile> files{{path_, true, kCifarRemedy},
                                  {path_ + "/test_batch.bin", false, kCifarRemedy}};
    if (!training_files(path_))  // their number is free
      files.push_back({path_ + "/data_batch_1.bin", false, kCifarRemedy});
    return files;
  }

  Result<OpenedData> open() const override {
    const auto files = training_files(path_);
    if (!files.ok()) return files.error();
    const auto train = std::make_shared<Cifar10Samples>();
    const auto test = std::make_shared<Cifar10Samples>();
    for (const auto& file : *files)
      if (const Status status = train->append_file(file); !status.ok()) return status.error();
    const Status status = test->append_file(fs::path(path_) / "test_batch.bin");
    if (!status.ok()) return status.error();
    return OpenedData{train, test};
  }

 private:
  std::string path_;
};

}  // namespace

extern const Kind<DataKind> kCifar10;
const Kind<DataKind> kCifar10 = {"cifar10", "CIFAR-10, binary version",
                                 make_options<Cifar10, DataKind>};

}  // namespace kimesh
