#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "kimesh/util/check.h"
#include "stored_samples.h"
#include "stratify.h"

namespace kimesh {
namespace {

constexpr std::uint64_t kPartBytesMax = std::uint64_t{64} << 30;  // more than a worker spares

// The samples that go into the test set, as a mask. Of a class with one sample it takes none.
std::vector<bool> drawn_for_test(const SampleClasses& all, double share, std::uint64_t seed) {
  std::vector<bool> is_test(all.samples());
  for (const auto& samples : shuffled_classes(all, seed, 0, Purpose::kTestSet)) {
    if (samples.size() < 2) continue;
    const double wanted = std::round(share * static_cast<double>(samples.size()));
    const auto count =
        std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, samples.size() - 1);
    for (std::size_t i = 0; i < count; ++i) is_test[samples[i]] = true;
  }
  return is_test;
}

std::vector<std::uint32_t> numbers_where(const std::vector<bool>& mask, bool wanted) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < mask.size(); ++i)
    if (mask[i] == wanted) numbers.push_back(i);
  return numbers;
}

}  // namespace

SampleScale scale_of_bytes(std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<float>(count, 2.0f / 255), std::vector<float>(count, -1.0f)};
}

SampleScale scale_of_one(std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<float>(count, 1.0f), std::vector<float>(count, 0.0f)};
}

DataSource::Set DataSource::whole(std::shared_ptr<const StoredSamples> stored) {
  std::vector<std::uint32_t> places(stored->classes().samples());
  std::iota(places.begin(), places.end(), 0u);
  SampleClasses classes = stored->classes();
  return {std::move(stored), std::move(places), std::move(classes)};
}

DataSource::Set DataSource::some(const std::shared_ptr<const StoredSamples>& stored,
                                 std::vector<std::uint32_t> places) {
  Set set{stored, std::move(places), {{}, stored->classes().classes}};
  for (const std::uint32_t place : set.places)
    set.classes.labels.push_back(stored->classes().labels[place]);
  return set;
}

Status DataSource::finish() {
  shape_ = train_.stored->shape();
  auto scale = train_.stored->scale(train_.places);
  if (!scale) return scale.error();
  scale_ = std::move(scale->scale);
  offset_ = std::move(scale->offset);
  return ok_status();
}

Result<Dataset> DataSource::read(const Set& set, std::span<const std::uint32_t> samples) const {
  const std::uint64_t bytes = samples.size() * (shape_.inputs() + 1) * sizeof(float);
  if (bytes > kPartBytesMax)
    return Error{ErrorCode::kUserInput,
                 fmt::format("{} samples of {} numbers are over the {} GiB that a node may hold; "
                             "use more nodes or smaller samples",
                             samples.size(), shape_.inputs(), kPartBytesMax >> 30)};
  Dataset data{shape_, {}, {}, scale_, offset_, {}, {}};
  std::vector<std::uint32_t> places;
  for (const std::uint32_t sample : samples) {
    KIMESH_CHECK(sample < set.places.size(), "a sample of this set");
    places.push_back(set.places[sample]);
    data.labels.push_back(set.classes.labels[sample]);
  }
  if (const Status status = set.stored->read(places, data); !status.ok()) return status.error();
  return data;
}

Result<Dataset> DataSource::read_train(std::span<const std::uint32_t> samples) const {
  return read(train_, samples);
}

Result<Dataset> DataSource::read_test(std::span<const std::uint32_t> samples) const {
  return read(test_, samples);
}

const TokenText* DataSource::token_text() const {
  return train_.stored->token_text();
}

bool is_there(const NeededFile& file) {
  std::error_code unknown;
  const auto status = std::filesystem::status(file.path, unknown);
  return std::filesystem::exists(status) && std::filesystem::is_directory(status) == file.is_folder;
}

std::vector<NeededFile> missing_data(const DataKind& kind) {
  std::vector<NeededFile> missing;
  for (NeededFile& file : kind.files()) {
    if (is_there(file)) continue;
    const bool in_missing_folder = !missing.empty() && missing.back().is_folder &&
                                   file.path.starts_with(missing.back().path + "/");
    if (!in_missing_folder) missing.push_back(std::move(file));
  }
  return missing;
}

Result<std::shared_ptr<const DataSource>> open_data(const DataKind& kind, std::uint64_t seed) {
  auto opened = kind.open();
  if (!opened) return opened.error();
  auto source = std::make_shared<DataSource>();
  if (opened->test) {
    if (opened->test->shape() != opened->train->shape())
      return Error{ErrorCode::kUserInput,
                   kind.files().front().path +
                       ": samples of the training set and of the test set differ in "
                       "their sizes. Make them equal."};
    source->train_ = DataSource::whole(opened->train);
    source->test_ = DataSource::whole(opened->test);
  } else {
    KIMESH_CHECK(opened->test_share > 0 && opened->test_share < 1, "a share for the test");
    const auto mask = drawn_for_test(opened->train->classes(), opened->test_share, seed);
    source->train_ = DataSource::some(opened->train, numbers_where(mask, false));
    source->test_ = DataSource::some(opened->train, numbers_where(mask, true));
  }
  if (source->train_.places.empty() || source->test_.places.empty())
    return Error{ErrorCode::kUserInput,
                 "the data has too few samples for a training set and a test set; add more of "
                 "each class"};
  if (const Status status = source->finish(); !status.ok()) return status.error();
  return std::shared_ptr<const DataSource>(std::move(source));
}

std::shared_ptr<const DataSource> data_in_memory(Dataset train, Dataset test) {
  auto source = std::make_shared<DataSource>();
  source->train_ = DataSource::whole(stored_in_memory(std::move(train)));
  source->test_ = DataSource::whole(stored_in_memory(std::move(test)));
  KIMESH_CHECK(source->finish().ok(), "memory can be read");
  return source;
}

}  // namespace kimesh
