#include "kimesh/data/dataset.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/data/read_all.h"

namespace kimesh::dataset_test {
namespace {

namespace fs = std::filesystem;

DataSets digits(std::uint64_t seed, double share = 0.2) {
  auto sets = read_all(data_options("kind: digits, test_share: " + std::to_string(share)), seed);
  EXPECT_TRUE(sets.ok());
  return std::move(*sets);
}

std::array<int, 10> class_counts(const Dataset& data) {
  std::array<int, 10> counts{};
  for (const auto label : data.labels) ++counts[label];
  return counts;
}

// FNV-1a over pixels and label of one sample.
std::uint64_t sample_hash(const Dataset& data, std::size_t sample) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (std::size_t i = 0; i < data.shape.inputs(); ++i)
    add(data.pixels[sample * data.shape.inputs() + i]);
  add(static_cast<std::uint8_t>(data.labels[sample]));
  return hash;
}

// The sum was computed in Python from the CSV file.
// Seen to fail: reading groups of pixels lowest first.
TEST(Digits, AreThoseOfTheOriginalFile) {
  const DataSets sets = digits(1);
  std::uint64_t sum = 0;
  for (const Dataset* data : {&sets.train, &sets.test})
    for (std::size_t i = 0; i < data->samples(); ++i) sum += sample_hash(*data, i);
  EXPECT_EQ(sum, 0xb1c670a6c8285a09u);
  EXPECT_EQ(sets.train.samples() + sets.test.samples(), 1797u);
}

TEST(Digits, PixelsLieBetweenMinusOneAndOne) {
  const Dataset train = digits(1).train;
  std::vector<float> image(train.shape.inputs());
  float low = 0, high = 0;
  for (std::uint32_t i = 0; i < train.samples(); ++i) {
    train.copy_sample(i, image);
    for (const float value : image) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  EXPECT_EQ(low, -1.0f);
  EXPECT_EQ(high, 1.0f);
}

// Seen to fail: taking the first samples of the file, classes mixed.
TEST(Digits, TestSetHoldsTheSameShareOfEveryClass) {
  for (const double share : {0.01, 0.2, 0.9}) {
    const DataSets sets = digits(3, share);
    const auto train = class_counts(sets.train), test = class_counts(sets.test);
    for (std::size_t c = 0; c < 10; ++c) {
      EXPECT_NEAR(test[c], share * (train[c] + test[c]), 0.5 + 1e-9) << "class " << c;
      EXPECT_GT(train[c], 0);
      EXPECT_GT(test[c], 0);
    }
  }
}

// Seen to fail: a test set that leaves its samples in the training set.
TEST(Digits, NoTestSampleIsTrainedOn) {
  const DataSets sets = digits(5);
  std::multiset<std::uint64_t> all;
  for (const Dataset* data : {&sets.train, &sets.test})
    for (std::size_t i = 0; i < data->samples(); ++i) all.insert(sample_hash(*data, i));
  EXPECT_EQ(all.size(), 1797u);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 1797u);  // the file holds no sample twice
}

TEST(Digits, TestSetIsAFunctionOfTheSeed) {
  EXPECT_EQ(digits(1).test.pixels, digits(1).test.pixels);
  EXPECT_NE(digits(1).test.pixels, digits(2).test.pixels);
}

TEST(Digits, RefuseATestShareThatLeavesNothing) {
  for (const std::string share : {"0", "1", "-0.5", "nan"})
    EXPECT_FALSE(load_options<DataOptions>("{kind: digits, test_share: " + share + "}").ok());
}

// A CIFAR-10 folder in a temporary directory, gone with the object.
class CifarFolder {
 public:
  CifarFolder() {
    std::string pattern = (fs::temp_directory_path() / "kimesh-cifar-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~CifarFolder() { fs::remove_all(path_); }

  void write(const std::string& name, const std::vector<std::uint8_t>& labels,
             int extra_bytes = 0) {
    std::ofstream file(path_ / name, std::ios::binary);
    for (const auto label : labels) {
      file.put(static_cast<char>(label));
      for (int i = 0; i < 3072; ++i) file.put(static_cast<char>(i / 1024 * 100 + label));
    }
    for (int i = 0; i < extra_bytes; ++i) file.put(0);
  }
  Result<DataSets> load() const {
    return read_all(data_options("kind: cifar10, path: " + path_.string()), 1);
  }

 private:
  fs::path path_;
};

TEST(Cifar10, ReadsLabelsAndPlanesOfEveryBatchFile) {
  CifarFolder folder;
  folder.write("data_batch_2.bin", {7});
  folder.write("data_batch_1.bin", {3, 9});
  folder.write("test_batch.bin", {0});
  const auto sets = folder.load();
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  EXPECT_EQ(sets->train.labels, (std::vector<std::uint16_t>{3, 9, 7}));
  EXPECT_EQ(sets->test.samples(), 1u);
  std::vector<float> image(3072);
  sets->train.copy_sample(1, image);
  EXPECT_NEAR(image[0], (9 / 255.0 - 0.4914) / 0.2470, 1e-6);
  EXPECT_NEAR(image[1024], (109 / 255.0 - 0.4822) / 0.2435, 1e-6);
  EXPECT_NEAR(image[3071], (209 / 255.0 - 0.4465) / 0.2616, 1e-6);
}

void expect_refusal(const CifarFolder& folder, const std::string& file, const std::string& why) {
  const auto sets = folder.load();
  ASSERT_FALSE(sets.ok());
  EXPECT_EQ(sets.error().code, ErrorCode::kUserInput);
  EXPECT_NE(sets.error().message.find(file), std::string::npos) << sets.error().message;
  EXPECT_NE(sets.error().message.find(why), std::string::npos) << sets.error().message;
}

// Seen to fail: the check of size or label taken out of append_file.
TEST(Cifar10, RefusesByNameWhatIsMissingOrBroken) {
  CifarFolder folder;
  expect_refusal(folder, "kimesh-cifar", "no data_batch_1.bin");
  folder.write("data_batch_1.bin", {1});
  expect_refusal(folder, "test_batch.bin", "cannot be read");
  folder.write("test_batch.bin", {1}, 17);
  expect_refusal(folder, "test_batch.bin", "3090 bytes");
  folder.write("test_batch.bin", {});
  expect_refusal(folder, "test_batch.bin", "0 bytes");
  folder.write("test_batch.bin", {1, 10});
  expect_refusal(folder, "test_batch.bin", "record 1 has the label 10");
}

TEST(Cifar10, ReadsTheRealSubset) {
  const std::string path = KIMESH_SOURCE_DIR "/../shared/data/cifar10-subset";
  if (!fs::exists(path)) GTEST_SKIP() << "There is no CIFAR-10 at " << path << ".";
  const auto sets = read_all(data_options("kind: cifar10, path: " + path), 1);
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  EXPECT_EQ(sets->train.samples(), fs::file_size(path + "/data_batch_1.bin") / 3073);
  double sum = 0;
  std::vector<float> image(3072);
  for (std::uint32_t i = 0; i < sets->train.samples(); ++i) {
    sets->train.copy_sample(i, image);
    for (const float value : image) sum += value;
  }
  EXPECT_NEAR(sum / static_cast<double>(sets->train.pixels.size()), 0, 0.05);
}

}  // namespace
}  // namespace kimesh::dataset_test
