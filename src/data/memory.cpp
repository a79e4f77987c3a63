#include "stored_samples.h"

namespace kimesh {
namespace {

class MemorySamples : public StoredSamples {
 public:
  explicit MemorySamples(Dataset data) : data_(std::move(data)) {
    const bool tokens = data_.shape.kind == SampleShape::Kind::kTokens;
    classes_ = {data_.labels, tokens ? 1 : data_.shape.classes};
  }

  const SampleShape& shape() const override { return data_.shape; }
  const SampleClasses& classes() const override { return classes_; }
  Result<SampleScale> scale(std::span<const std::uint32_t>) const override {
    return SampleScale{data_.scale, data_.offset};
  }
  Status read(std::span<const std::uint32_t> samples, Dataset& out) const override {
    for (const std::uint32_t sample : samples) {
      append(data_.pixels, sample, out.pixels);
      append(data_.values, sample, out.values);
      append(data_.tokens, sample, out.tokens);
    }
    return ok_status();
  }

 private:
  // A form that the data is not in is empty, and stays so.
  template <typename T>
  void append(const std::vector<T>& from, std::uint32_t sample, std::vector<T>& to) const {
    const std::size_t size = from.size() / data_.samples();
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(sample * size);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }

  Dataset data_;
  SampleClasses classes_;
};

}  // namespace

std::shared_ptr<const StoredSamples> stored_in_memory(Dataset data) {
  return std::make_shared<MemorySamples>(std::move(data));
}

}  // namespace kimesh
