#include "array_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "byte_file.h"

namespace kimesh {
namespace {

constexpr const char* kArrayRemedy = "Check that the file is whole and what its kind of data wants";
constexpr std::size_t kChunk = 4096;  // labels that are read at once

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");

template <typename T>
double number_at(const std::uint8_t* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof number);
  return static_cast<double>(number);
}

using ToNumber = double (*)(const std::uint8_t*);

// Null: no such kind of number.
ToNumber reader_of(const NumberArray& array) {
  switch (array.kind) {
    case 'u':
      return array.bytes == 1   ? number_at<std::uint8_t>
             : array.bytes == 2 ? number_at<std::uint16_t>
             : array.bytes == 4 ? number_at<std::uint32_t>
             : array.bytes == 8 ? number_at<std::uint64_t>
                                : nullptr;
    case 'i':
      return array.bytes == 1   ? number_at<std::int8_t>
             : array.bytes == 2 ? number_at<std::int16_t>
             : array.bytes == 4 ? number_at<std::int32_t>
             : array.bytes == 8 ? number_at<std::int64_t>
                                : nullptr;
    case 'f':
      return array.bytes == 4 ? number_at<float> : array.bytes == 8 ? number_at<double> : nullptr;
    default:
      return nullptr;
  }
}

// The numbers of one sample; 0 where the dimensions overflow what a sample may hold.
std::uint64_t numbers_in_sample(const NumberArray& array) {
  std::uint64_t count = 1;
  for (std::size_t i = 1; i < array.sizes.size(); ++i) {
    if (array.sizes[i] == 0 || array.sizes[i] > kSampleNumbersMax / count) return 0;
    count *= array.sizes[i];
  }
  return count;
}

// Opens the file and compares its size with what its head announced.
Result<ByteFile> open_array(const NumberArray& array) {
  auto file = ByteFile::open(array.path, kArrayRemedy);
  if (!file) return file;
  const std::uint64_t numbers = numbers_in_sample(array);
  if (numbers == 0 || array.sizes[0] == 0 || array.sizes[0] > kStoredSamplesMax)
    return file->refuse(fmt::format("its dimensions are not 1 to {} samples of 1 to {} numbers",
                                    kStoredSamplesMax, kSampleNumbersMax));
  if (reader_of(array) == nullptr)
    return file->refuse(fmt::format("it holds numbers of the type {}{}, which are not read here",
                                    array.kind, array.bytes));
  const std::uint64_t wanted = array.begin + array.sizes[0] * numbers * array.bytes;
  if (file->size() != wanted)
    return file->refuse(
        fmt::format("it has {} bytes, but its head announces {}", file->size(), wanted));
  return file;
}

SampleShape shape_of(const NumberArray& images) {
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(images.sizes[i]); };
  SampleShape shape;
  const std::size_t dimensions = images.sizes.size();
  shape.channels = dimensions == 3 ? 1 : size(1);
  shape.height = dimensions == 2 ? 1 : size(dimensions - 2);
  shape.width = dimensions == 2 ? 1 : size(dimensions - 1);
  return shape;
}

Result<SampleClasses> read_labels(const NumberArray& labels, std::int64_t classes) {
  auto file = open_array(labels);
  if (!file) return file.error();
  const ToNumber number = reader_of(labels);
  SampleClasses result{{}, 0};
  std::vector<std::uint8_t> bytes;
  const std::uint64_t count = labels.sizes[0];
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % kChunk == 0) {
      bytes.resize(std::min<std::uint64_t>(kChunk, count - i) * labels.bytes);
      const Status read = file->read_at(labels.begin + i * labels.bytes, bytes);
      if (!read.ok()) return read.error();
    }
    const double label = number(bytes.data() + i % kChunk * labels.bytes);
    const auto end = static_cast<double>(classes > 0 ? classes : kClassesMax);
    if (!(label >= 0 && label < end) || label != std::floor(label))
      return file->refuse(
          fmt::format("sample {} has the label {}, which is no whole number from "
                      "0 to {}",
                      i, label, end - 1));
    result.labels.push_back(static_cast<std::uint16_t>(label));
    result.classes = std::max(result.classes, static_cast<std::int64_t>(label) + 1);
  }
  if (classes > 0) result.classes = classes;
  if (result.classes < 2) return file->refuse("all samples have the label 0");
  return result;
}

class ArraySamples : public StoredSamples {
 public:
  ArraySamples(NumberArray images, SampleClasses classes)
      : images_(std::move(images)), shape_(shape_of(images_)), classes_(std::move(classes)) {
    shape_.classes = classes_.classes;
  }

  const SampleShape& shape() const override { return shape_; }
  const SampleClasses& classes() const override { return classes_; }
  Result<SampleScale> scale(std::span<const std::uint32_t>) const override {
    return is_bytes() ? scale_of_bytes(shape_.channels) : scale_of_one(shape_.channels);
  }

  Status read(std::span<const std::uint32_t> samples, Dataset& out) const override {
    auto file = ByteFile::open(images_.path, kArrayRemedy);
    if (!file) return file.error();
    const std::size_t numbers = shape_.inputs(), size = numbers * images_.bytes;
    const ToNumber number = reader_of(images_);
    std::vector<std::uint8_t> bytes(size);
    for (const std::uint32_t sample : samples) {
      const Status read = file->read_at(images_.begin + std::uint64_t{sample} * size, bytes);
      if (!read.ok()) return read;
      if (is_bytes()) {
        out.pixels.insert(out.pixels.end(), bytes.begin(), bytes.end());
        continue;
      }
      for (std::size_t i = 0; i < numbers; ++i) {
        const auto value = static_cast<float>(number(bytes.data() + i * images_.bytes));
        if (!std::isfinite(value))
          return file->refuse(
              fmt::format("sample {} holds NaN, infinity or a number too large "
                          "for float32",
                          sample));
        out.values.push_back(value);
      }
    }
    return ok_status();
  }

 private:
  bool is_bytes() const { return images_.kind == 'u' && images_.bytes == 1; }

  NumberArray images_;
  SampleShape shape_;
  SampleClasses classes_;
};

}  // namespace

Result<std::shared_ptr<const StoredSamples>> stored_in_arrays(const NumberArray& images,
                                                              const NumberArray& labels,
                                                              std::int64_t classes) {
  const auto file = open_array(images);
  if (!file) return file.error();
  if (images.sizes.size() < 2 || images.sizes.size() > 4)
    return file->refuse(fmt::format("samples have 2 to 4 dimensions, not {}", images.sizes.size()));
  if (labels.sizes.size() != 1 || labels.sizes[0] != images.sizes[0])
    return refused_file(
        labels.path, fmt::format("its labels are not one for each of {} samples", images.sizes[0]),
        kArrayRemedy);
  auto read = read_labels(labels, classes);
  if (!read) return read.error();
  return std::shared_ptr<const StoredSamples>(
      std::make_shared<ArraySamples>(images, std::move(*read)));
}

}  // namespace kimesh
