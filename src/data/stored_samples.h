// What the samples of a kind of data are to the rest of the layer: a numbered store.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kimesh/data/dataset.h"

namespace kimesh {

// Labels take two bytes a sample on every node: 512 MB.
inline constexpr std::uint64_t kStoredSamplesMax = 1u << 28;
inline constexpr std::int64_t kClassesMax = 65536;           // what a label can count
inline constexpr std::uint64_t kSampleNumbersMax = 1 << 26;  // one sample: 256 MB of float32

// Brings numbers to about [-1, 1]. Shapes: [channels]; tokens: empty.
struct SampleScale {
  std::vector<float> scale, offset;
};

class StoredSamples {
 public:
  virtual ~StoredSamples() = default;
  [[nodiscard]] virtual const SampleShape& shape() const = 0;
  [[nodiscard]] virtual const SampleClasses& classes() const = 0;
  // The same on every node: from all samples `training`, or from none.
  [[nodiscard]] virtual Result<SampleScale> scale(
      std::span<const std::uint32_t> training) const = 0;
  // Appends the samples, in this order, to the one of pixels, values and tokens that is its form.
  [[nodiscard]] virtual Status read(std::span<const std::uint32_t> samples, Dataset& out) const = 0;
  [[nodiscard]] virtual const TokenText* token_text() const { return nullptr; }
};

struct OpenedData {
  std::shared_ptr<const StoredSamples> train;  // shared: both sets may lie in it
  std::shared_ptr<const StoredSamples> test;   // null: `test_share` of `train`
  double test_share = 0;                       // in (0, 1), where there is no test set
};

// Samples that `data` holds.
[[nodiscard]] std::shared_ptr<const StoredSamples> stored_in_memory(Dataset data);

// Bytes 0 to 255 become -1 to 1.
[[nodiscard]] SampleScale scale_of_bytes(std::int64_t channels);
// Numbers stay as they are.
[[nodiscard]] SampleScale scale_of_one(std::int64_t channels);

}  // namespace kimesh
