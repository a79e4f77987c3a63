#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "src/data/load.h"

namespace kimesh {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::size_t kRecordBytes = 1 + kPixels;
constexpr std::size_t kFileRecordsMax =
    100'000;  // ten times the original: memory for a file stays under 310 MB
constexpr std::size_t kFilesMax = 100;

// Mean and standard deviation of the training set's channels, of pixels scaled to [0, 1].
constexpr std::array<float, 3> kMean{0.4914f, 0.4822f, 0.4465f};
constexpr std::array<float, 3> kDeviation{0.2470f, 0.2435f, 0.2616f};

Error refuse(const fs::path& path, std::string_view why) {
  return {ErrorCode::kUserInput,
          fmt::format("{}: {}. Point data.path at the unpacked CIFAR-10 binary version.",
                      path.string(), why)};
}

Dataset empty_cifar10() {
  Dataset data;
  data.shape.channels = 3;
  data.shape.height = data.shape.width = 32;
  data.shape.classes = 10;
  for (std::size_t c = 0; c < 3; ++c) {
    data.scale.push_back(1.0f / (255.0f * kDeviation[c]));
    data.offset.push_back(-kMean[c] / kDeviation[c]);
  }
  return data;
}

Status append_file(const fs::path& path, Dataset& data) {
  std::error_code trouble;
  const auto bytes = fs::file_size(path, trouble);
  if (trouble) return refuse(path, "the file cannot be read (" + trouble.message() + ")");
  const auto records = bytes / kRecordBytes;
  if (bytes % kRecordBytes != 0 || records == 0 || records > kFileRecordsMax)
    return refuse(path, fmt::format("{} bytes are not 1 to {} records of {} bytes", bytes,
                                    kFileRecordsMax, kRecordBytes));
  std::ifstream file(path, std::ios::binary);
  data.pixels.reserve(data.pixels.size() + records * kPixels);
  std::array<char, kRecordBytes> record;
  for (std::size_t i = 0; i < records; ++i) {
    if (!file.read(record.data(), record.size())) return refuse(path, "reading it fails");
    const auto label = static_cast<std::uint8_t>(record[0]);
    if (label >= data.shape.classes)
      return refuse(path, fmt::format("record {} has the label {}, over 9", i, label));
    data.labels.push_back(label);
    data.pixels.insert(data.pixels.end(), record.begin() + 1, record.end());
  }
  return ok_status();
}

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

}  // namespace

Result<DataSets> load_cifar10(const std::string& folder) {
  const auto files = training_files(folder);
  if (!files.ok()) return files.error();
  DataSets sets{empty_cifar10(), empty_cifar10()};
  for (const auto& file : *files)
    if (const Status status = append_file(file, sets.train); !status.ok()) return status.error();
  const Status status = append_file(fs::path(folder) / "test_batch.bin", sets.test);
  if (!status.ok()) return status.error();
  return sets;
}

}  // namespace kimesh
