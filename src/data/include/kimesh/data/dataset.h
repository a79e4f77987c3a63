// Where samples come from. A node first learns what there is (how many samples, of which classes
// and shape), then reads its own part: other nodes' samples never enter its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kimesh/data/data_config.h"
#include "kimesh/data/sample_shape.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Samples in memory. Images lie as [samples][channels][height][width] in one of two forms, which is
// that of their file: bytes stay bytes, a quarter of the memory that float32 would take.
struct Dataset {
  SampleShape shape;
  std::vector<std::uint8_t> pixels;   // images of bytes; else empty
  std::vector<float> values;          // images of other numbers; else empty
  std::vector<float> scale, offset;   // [channels]: bring an image to about [-1, 1]
  std::vector<std::uint16_t> tokens;  // [samples][length + 1]: the last is only a target
  std::vector<std::uint16_t> labels;  // [samples]; tokens: all 0
  [[nodiscard]] std::size_t samples() const { return labels.size(); }
  // Of images. Writes number · scale + offset. Shape: out [shape.inputs()]. Requires sample <
  // samples().
  void copy_sample(std::uint32_t sample, std::span<float> out) const;
  // Of tokens: the length inputs and, one later, the length targets. Shape: [length + 1].
  [[nodiscard]] std::span<const std::uint16_t> tokens_of(std::uint32_t sample) const;
};

// All that dealing samples out needs.
struct SampleClasses {
  std::vector<std::uint16_t> labels;  // [samples], each below `classes`
  std::int64_t classes = 1;           // 1: the samples have no classes but an order (text)
  [[nodiscard]] std::size_t samples() const { return labels.size(); }
};

class StoredSamples;

// A training set and a test set on disk. Immutable after open_data, so threads may share it.
class DataSource {
 public:
  [[nodiscard]] const SampleShape& shape() const { return shape_; }
  [[nodiscard]] const SampleClasses& train() const { return train_.classes; }
  [[nodiscard]] const SampleClasses& test() const { return test_.classes; }

  // Sample k of the result is `samples[k]` of the set. Reads the bytes of these samples only; of
  // csv and text, whose samples have no fixed place, the file is read through and the rest dropped.
  // Errors: UserInput (the files are broken or have changed; a part over 64 GiB), naming the file.
  // Requires samples below train().samples() or test().samples().
  [[nodiscard]] Result<Dataset> read_train(std::span<const std::uint32_t> samples) const;
  [[nodiscard]] Result<Dataset> read_test(std::span<const std::uint32_t> samples) const;

 private:
  friend Result<std::shared_ptr<const DataSource>> open_data(const DataConfig&, std::uint64_t);
  friend std::shared_ptr<const DataSource> data_in_memory(Dataset, Dataset);
  struct Set {
    std::shared_ptr<const StoredSamples> stored;  // one file may hold both sets
    std::vector<std::uint32_t> places;            // [samples]: where in `stored`
    SampleClasses classes;
  };
  static Set whole(std::shared_ptr<const StoredSamples> stored);
  static Set some(const std::shared_ptr<const StoredSamples>& stored,
                  std::vector<std::uint32_t> places);
  Status finish();
  Result<Dataset> read(const Set& set, std::span<const std::uint32_t> samples) const;

  SampleShape shape_;
  std::vector<float> scale_, offset_;
  Set train_, test_;
};

// A file or folder that must be there before data can be read.
struct NeededFile {
  std::string path;
  bool is_folder = false;
  std::string remedy;        // what to do where it is not; without a full stop
  std::string key = "path";  // of the section data, that names it
};
[[nodiscard]] bool is_there(const NeededFile& file);
// What open_data will miss. Only names are looked at: the files may still be broken. Of a folder
// that is not there its files are not listed as well.
[[nodiscard]] std::vector<NeededFile> missing_data(const DataConfig& config);

// - digits: embedded (UCI optical recognition of handwritten digits, CC BY 4.0).
// - cifar10: data_batch_*.bin and test_batch.bin of the folder `path` (CIFAR-10 binary version:
//   records of 3073 bytes, a label and 3 x 32 x 32 pixels; the sizes of the files say how many).
//
// - idx: the folder `path` holds train-images-idx3-ubyte, train-labels-idx1-ubyte and, unless a
//   test_share is given, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (MNIST, unpacked).
// - npy: the folder `path` holds images.npy, labels.npy and, unless a test_share is given,
//   test_images.npy and test_labels.npy: little-endian, C order, images [n][features],
//   [n][height][width] or [n][channels][height][width], labels [n] whole numbers from 0. Bytes
//   become -1 to 1, other numbers stay as they are.
// - csv: a line a sample; `label` is the column of the class, by name or number from 1; the others
//   are numbers, brought to mean 0 and deviation 1 of the training rows. `test_path`, or a share.
// - text: a file in UTF-8 cut into samples of `length` tokens (characters, or words: runs of
//   letters, digits and apostrophes; other characters and ends of lines are tokens of their own);
//   the test set is its end. Tokens seen less often than count_min, or beyond the vocabulary_max
//   most frequent, become <unknown>.
// - image_folder: `path`/CLASS/*.png, jpg, jpeg, bmp, ppm or pgm, all of one size or resized to
//   `height` x `width`; `test_path` with the same folders, or a share. The first image decides
//   whether all are grey or colour.
//
// The test set is files of its own, or a seeded, stratified share of the samples (`test_share`: of
// each class round(share · samples), at least one and never all).
//
// `config.path` is taken as it is, relative to the process.
// Errors: UserInput (a file is missing or broken), naming it and, of csv and text, the line.
[[nodiscard]] Result<std::shared_ptr<const DataSource>> open_data(const DataConfig& config,
                                                                  std::uint64_t seed);

// Samples that are in memory already: for tests and benchmarks. Both sets have one shape and scale.
[[nodiscard]] std::shared_ptr<const DataSource> data_in_memory(Dataset train, Dataset test);

}  // namespace kimesh
