// Where samples come from. A node first learns what there is (how many samples, of which classes
// and shape), then reads its own part: other nodes' samples never enter its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kimesh/data/data_kind.h"
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
class TokenText;

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

  // What tokens stand for (token_text.h), as long as this lives; null: samples are no text.
  [[nodiscard]] const TokenText* token_text() const;

 private:
  friend Result<std::shared_ptr<const DataSource>> open_data(const DataKind&, std::uint64_t);
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

[[nodiscard]] bool is_there(const NeededFile& file);
// What open_data will miss. Only names are looked at: the files may still be broken. Of a folder
// that is not there its files are not listed as well.
[[nodiscard]] std::vector<NeededFile> missing_data(const DataKind& kind);

// The test set is files of its own, or a seeded, stratified share of the samples (`test_share`: of
// each class round(share · samples), at least one and never all). Errors: as DataKind::open.
[[nodiscard]] Result<std::shared_ptr<const DataSource>> open_data(const DataKind& kind,
                                                                  std::uint64_t seed);

// Samples that are in memory already: for tests and benchmarks. Both sets have one shape and scale.
[[nodiscard]] std::shared_ptr<const DataSource> data_in_memory(Dataset train, Dataset test);

}  // namespace kimesh
