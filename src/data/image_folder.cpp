// kind: image_folder. FOLDER/CLASS/image: the folders' names, sorted, are the classes. The first
// image decides whether all are grey or colour.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "byte_file.h"
#include "image_file.h"
#include "stored_samples.h"
#include "test_set.h"

namespace kimesh {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kImagesMax = 20'000'000;  // names of them all are held: a few GB
constexpr const char* kFolderRemedy =
    "Point data.path at a folder that holds a folder for each class";

// Entries of a folder that are (`folders`) folders, or images; sorted.
Result<std::vector<fs::path>> entries_of(const fs::path& folder, bool folders) {
  static constexpr std::array<std::string_view, 6> kEndings{".png", ".jpg", ".jpeg",
                                                            ".bmp", ".ppm", ".pgm"};
  std::vector<fs::path> found;
  std::error_code trouble;
  fs::directory_iterator entries(folder, trouble);
  for (; !trouble && entries != fs::directory_iterator(); entries.increment(trouble)) {
    std::string ending = entries->path().extension().string();
    std::ranges::transform(ending, ending.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool image = std::ranges::find(kEndings, ending) != kEndings.end();
    std::error_code unknown;
    if (folders ? entries->is_directory(unknown) : image) found.push_back(entries->path());
    if (found.size() > kImagesMax) break;
  }
  if (trouble)
    return refused_file(folder.string(), "the folder cannot be read (" + trouble.message() + ")",
                        kFolderRemedy);
  if (found.size() > kImagesMax)
    return refused_file(folder.string(), fmt::format("it holds over {} entries", kImagesMax),
                        "Use fewer images");
  std::ranges::sort(found);
  return found;
}

class FolderSamples : public StoredSamples {
 public:
  const SampleShape& shape() const override { return shape_; }
  const SampleClasses& classes() const override { return classes_; }
  Result<SampleScale> scale(std::span<const std::uint32_t>) const override {
    return scale_of_bytes(shape_.channels);
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // Lists the images and looks at the first. `size`: height and width, or nothing. `known`: the
  // training set, whose classes and size these images must have; null: this is it.
  Status open(const fs::path& folder, std::span<const std::int64_t> size,
              const FolderSamples* known) {
    const auto folders = entries_of(folder, true);
    if (!folders) return folders.error();
    for (const fs::path& each : *folders) names_.push_back(each.filename().string());
    if (names_.size() < 2 || names_.size() > static_cast<std::size_t>(kClassesMax) ||
        (known != nullptr && known->names() != names_))
      return refused_file(folder.string(),
                          known != nullptr ? "its folders are not those of the training set"
                                           : "it does not hold two or more folders",
                          kFolderRemedy);
    for (std::size_t i = 0; i < folders->size(); ++i) {
      const auto images = entries_of((*folders)[i], false);
      if (!images) return images.error();
      if (files_.size() + images->size() > kImagesMax)
        return refused_file(folder.string(), fmt::format("it holds over {} images", kImagesMax),
                            "Use fewer images");
      files_.insert(files_.end(), images->begin(), images->end());
      classes_.labels.resize(files_.size(), static_cast<std::uint16_t>(i));
    }
    if (files_.empty()) return refused_file(folder.string(), "it holds no image", kFolderRemedy);
    classes_.classes = static_cast<std::int64_t>(names_.size());
    return take_size(size, known);
  }

  Status read(std::span<const std::uint32_t> samples, Dataset& out) const override {
    for (const std::uint32_t sample : samples) {
      const auto image = read_image(files_[sample].string(), size_, resized_);
      if (!image) return image.error();
      out.pixels.insert(out.pixels.end(), image->begin(), image->end());
    }
    return ok_status();
  }

 private:
  Status take_size(std::span<const std::int64_t> size, const FolderSamples* known) {
    resized_ = !size.empty();
    if (known != nullptr) {
      size_ = known->size_;
      shape_ = known->shape_;
      return ok_status();
    }
    const auto first = size_of_image(files_.front().string());
    if (!first) return first.error();
    size_ = *first;
    if (resized_) size_.height = size[0], size_.width = size[1];
    shape_ = {SampleShape::Kind::kImage, size_.channels, size_.height, size_.width, 0, 0,
              classes_.classes};
    return ok_status();
  }

  std::vector<std::string> names_;
  std::vector<fs::path> files_;
  ImageSize size_;
  bool resized_ = false;
  SampleShape shape_;
  SampleClasses classes_;
};

class ImageFolder final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.require("path", "path: with the folder with a folder of images for each class");
    keys.path("path", path_, "folder with a folder of png, jpg, bmp, ppm or pgm for each class");
    keys.wholes("size", size_, limits::kImageSides, 2,
                "height and width that images are brought to; none: all have one size");
    keys.check(size_.size() != 1, "size", "data.size holds one number",
               "Write height and width: size: [64, 64]");
    test_.describe(keys, "folder of the test set, with the same folders");
  }

  std::vector<NeededFile> files() const override {
    std::vector<NeededFile> files{{path_, true, kFolderRemedy}};
    if (!test_.path.empty())
      files.push_back({test_.path, true,
                       "Point data.test at a folder with the same folders as data.path", "test"});
    return files;
  }

  Result<OpenedData> open() const override {
    const auto train = std::make_shared<FolderSamples>();
    if (const Status status = train->open(path_, size_, nullptr); !status.ok())
      return status.error();
    if (test_.path.empty()) return OpenedData{train, nullptr, test_.share};
    const auto test = std::make_shared<FolderSamples>();
    if (const Status status = test->open(test_.path, size_, train.get()); !status.ok())
      return status.error();
    return OpenedData{train, test};
  }

 private:
  std::string path_;
  std::vector<std::int64_t> size_;
  TestSet test_;
};

}  // namespace

extern const Kind<DataKind> kImageFolder;
const Kind<DataKind> kImageFolder = {"image_folder", "images, a folder for each class",
                                     make_options<ImageFolder, DataKind>};

}  // namespace kimesh
