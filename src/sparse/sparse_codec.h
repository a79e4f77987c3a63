// Base of codecs that send a selection of elements: their indices, then their values.
#pragma once

#include "entry_format.h"
#include "kimesh/codec/difference.h"

namespace kimesh {

// Declares the key `values`: the format of values.
void describe_values_key(ValueFormat& values, Keys& keys);
// Mean bytes of a value, its part of a scale included.
[[nodiscard]] double value_bytes_about(ValueFormat values);

class SparseCodec : public Codec {
 public:
  void describe(Keys& keys) override;
  CodecTraits traits() const override;
  std::span<const WireForm> forms() const override;
  std::size_t bytes_max(std::size_t kept, std::size_t size) const override;
  Result<Advanced> advance(const AdvanceJob& job) const override;

 protected:
  [[nodiscard]] const EntryFormat& format() const { return format_; }
  // Mean bytes of an entry.
  [[nodiscard]] double entry_bytes_about() const;

 private:
  // A selection and its payload. scratch.entries hold what the far side decodes.
  struct Attempt {
    std::uint32_t keep = 0;
    PassSummary selected;
    Form form = Form::kSparse;
    std::vector<std::byte> bytes;
  };

  // Fills scratch.entries with about `keep` elements, never more. `full`: exactly `keep`, where
  // there are enough that are not 0.
  [[nodiscard]] virtual Result<PassSummary> select(const AdvanceJob& job, std::uint32_t keep,
                                                   bool full) const = 0;
  [[nodiscard]] Result<Attempt> attempt(const AdvanceJob& job, std::uint32_t keep) const;
  [[nodiscard]] Result<Attempt> fill_coded(const AdvanceJob& job, std::uint32_t least) const;
  [[nodiscard]] Result<Attempt> make(const AdvanceJob& job) const;

  EntryFormat format_;
};

// Base of those that select the largest elements (CodecTraits::keeps_largest).
class LargestCodec : public SparseCodec {
 public:
  CodecTraits traits() const override {
    CodecTraits traits = SparseCodec::traits();
    traits.keeps_largest = true;
    return traits;
  }
};

}  // namespace kimesh
