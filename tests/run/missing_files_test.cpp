// Files that a config names and that are not there: each a problem at the line of its key.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "kimesh/run/run_config.h"
#include "tests/run/stand_in_models.h"

namespace kimesh::missing_files_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class MissingFiles : public testing::Test {
 protected:
  MissingFiles() {
    std::string pattern = (fs::temp_directory_path() / "kimesh-missing-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~MissingFiles() override { fs::remove_all(path_); }

  void put(const std::string& name, const std::string& text = "") const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  // "LINE: MESSAGE" of each, paths from the folder on.
  [[nodiscard]] std::vector<std::string> missing_of(const std::string& sections) const {
    put("config.yaml", sections + "optimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 10}\n");
    const auto config = load_config((path_ / "config.yaml").string());
    for (const Problem& problem : config.problems) ADD_FAILURE() << to_string(problem);
    std::vector<std::string> sentences;
    for (const Problem& problem : missing_files(config.value)) {
      EXPECT_EQ(problem.file, (path_ / "config.yaml").string());
      EXPECT_TRUE(problem.remedy.ends_with("counts from the config file's folder"));
      std::string sentence = std::to_string(problem.line) + ": " + problem.message;
      const std::string folder = path_.string() + "/";
      while (sentence.find(folder) != std::string::npos)
        sentence.erase(sentence.find(folder), folder.size());
      sentences.push_back(std::move(sentence));
    }
    return sentences;
  }

  fs::path path_;
};

TEST_F(MissingFiles, AreNoneOfDataThatIsBuiltIn) {
  EXPECT_THAT(missing_of("model: {kind: mlp}\ndata: {kind: digits}\n"), IsEmpty());
  EXPECT_THAT(missing_of("quadratic: {dimension: 20}\n"), IsEmpty());
}

TEST_F(MissingFiles, AreToldWithTheLineOfTheirKey) {
  const std::string sections =
      "model:\n  kind: mlp\n  weights: start.safetensors\ndata:\n  kind: csv\n  label: y\n"
      "  path: train.csv\n  test: test.csv\n";
  EXPECT_THAT(missing_of(sections),
              ElementsAre("3: there is no file start.safetensors, which model.weights asks for",
                          "7: there is no file train.csv, which data.path asks for",
                          "8: there is no file test.csv, which data.test asks for"));
  put("train.csv");
  put("start.safetensors");
  EXPECT_THAT(missing_of(sections),
              ElementsAre("8: there is no file test.csv, which data.test asks for"));
  EXPECT_THAT(missing_of("quadratic: {path: q.csv}\n"),
              ElementsAre("1: there is no file q.csv, which quadratic.path asks for"));
}

TEST_F(MissingFiles, AFolderIsNoFileAndAFileNoFolder) {
  put("text.txt/inside");
  EXPECT_THAT(missing_of("model: {kind: lstm}\ndata: {kind: text, path: text.txt}\n"),
              ElementsAre("2: there is no file text.txt, which data.path asks for"));
  put("images");
  EXPECT_THAT(missing_of("model: {kind: mlp}\ndata: {kind: image_folder, path: images}\n"),
              ElementsAre("2: there is no folder images, which data.path asks for"));
}

TEST_F(MissingFiles, OfAFolderAreWhatTheFormatReadsInIt) {
  const std::string idx = "model: {kind: mlp}\ndata: {kind: idx, path: mnist}\n";
  EXPECT_THAT(missing_of(idx),
              ElementsAre("2: there is no folder mnist, which data.path asks for"));
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"})
    put(std::string("mnist/") + name);
  EXPECT_THAT(missing_of(idx), ElementsAre("2: there is no file mnist/t10k-labels-idx1-ubyte, "
                                           "which data.path asks for"));
  EXPECT_THAT(missing_of("model: {kind: mlp}\ndata: {kind: idx, path: mnist, test_share: 0.2}\n"),
              IsEmpty());
  put("cifar/data_batch_7.bin");
  EXPECT_THAT(missing_of("model: {kind: mlp}\ndata: {kind: cifar10, path: cifar}\n"),
              ElementsAre("2: there is no file cifar/test_batch.bin, which data.path asks for"));
  put("arrays/images.npy");
  EXPECT_THAT(missing_of("model: {kind: mlp}\ndata: {kind: npy, path: arrays, test_share: 0.2}\n"),
              ElementsAre("2: there is no file arrays/labels.npy, which data.path asks for"));
}

}  // namespace
}  // namespace kimesh::missing_files_test
