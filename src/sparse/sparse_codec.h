// Codecs that send a selection of elements: their indices, then their values.
#pragma once

#include "entry_format.h"
#include "kimesh/codec/difference.h"

namespace kimesh {

// `values: float16` and so on, for codecs that let a config choose.
void describe_values_key(ValueFormat& values, Keys& keys);
// Bytes of a value on the average, with its part of a scale.
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
  // Bytes of an entry on the average.
  [[nodiscard]] double entry_bytes_about() const;

 private:
  // A selection as it was written. scratch.entries hold what the far side decodes.
  struct Attempt {
    std::uint32_t keep = 0;
    Selected selected;
    Form form = Form::kSparse;
    std::vector<std::byte> bytes;
  };

  // Fills scratch.entries with the elements to send, about `keep` of them and never more. `full`:
  // exactly so many where there are enough.
  [[nodiscard]] virtual Result<Selected> select(const AdvanceJob& job, std::uint32_t keep,
                                                bool full) const = 0;
  [[nodiscard]] Result<Attempt> attempt(const AdvanceJob& job, std::uint32_t keep) const;
  [[nodiscard]] Result<Attempt> fill_coded(const AdvanceJob& job, std::uint32_t least) const;
  [[nodiscard]] Result<Attempt> make(const AdvanceJob& job) const;

  EntryFormat format_;
};

}  // namespace kimesh
