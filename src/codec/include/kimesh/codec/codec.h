// The contract of a codec: how the difference of two vectors becomes bytes, and bytes become a
// difference again. Each codec is one source file with its name, its keys, its traits, the forms
// that it writes and a factory, and one line in the table of compress/codecs.cpp. Programs that use
// kimesh as a library write codecs of their own against this header (HostCodec is the short way)
// and register them with add_codec (compress/codecs.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kimesh/codec/curve.h"
#include "kimesh/codec/piece.h"
#include "kimesh/codec/setting.h"
#include "kimesh/config/keys.h"
#include "kimesh/kernels/collect.h"
#include "kimesh/kernels/quantise.h"
#include "kimesh/util/result.h"

namespace kimesh {

class Difference;

// The format of a payload. The numbers are part of the wire format: a new form takes the next free
// number, and no number is ever reused. 128 to 255 belong to programs that use kimesh as a library.
// A form without a name here is declared by its codec alone.
enum class Form : std::uint8_t {
  kEmpty = 0,     // no payload: the message carries control values only
  kDense = 1,     // all elements in float32, assigned; payloads of all other forms are added
  kSparse = 2,    // u32 indices, ascending, then float32 values
  kPacked = 3,    // indices and values in the formats that the first byte names: packed.h
  kSeeded = 4,    // values under a mask that both ends draw: randk.h
  kBfloat16 = 5,  // all elements, the upper halves of float32
  kSign = 6,      // all elements, in blocks: kernels/quantise.h
  kInt8 = 7,
  kInt4 = 8,
  kDzq = 9,  // dzq/message.h. 10 was dzq in fixed widths, which is gone
};
inline constexpr std::uint8_t kUserFormsBegin = 128;

// ---- the content of a payload once it is decoded. Spans point into the payload.
struct AssignFloats {  // all elements, float32
  std::span<const std::byte> floats;
};
struct AddBlocks {  // adds to every element
  kernels::BlockFormat blocks;
  std::span<const std::byte> bytes;
};
struct AddSparse {  // u32 indices, ascending, and as many float32
  std::span<const std::byte> indices, values;
};
struct AddEntries {
  kernels::Entries entries;
};
using Content = std::variant<AssignFloats, AddBlocks, AddSparse, AddEntries>;

// A form that a codec writes. `decode` reads a payload for a vector of `size` elements; the content
// is finite and lies within the vector. Errors: Malformed, for bytes that no correct sender writes.
struct WireForm {
  Form form;
  std::string_view name;  // nodes that use different codecs for one form refuse each other
  Result<Content> (*decode)(std::span<const std::byte> payload, std::size_t size);
  std::string_view help = {};  // what the payload holds, and where its grammar is: for docs
};

// What a codec promises with the present values of its keys.
struct CodecTraits {
  // |C(v)_j| + |v_j − C(v)_j| = |v_j| for every element j, when it rounds towards zero
  // (Rounding::kTowardsZero), as it is told to where a message is compressed again on its way. Such
  // routes need this: with other codecs errors grow from hop to hop.
  bool conservative = false;
  bool rounds = false;  // rounds values: Setting::rounding has an effect
  // No message leaves out more energy than there was to send. Error feedback needs this. Gathers
  // always have it, whatever `feedback` says of reduces: see Codec::contractive_codec.
  bool contractive = true;
  bool keeps_elements = false;  // messages have as many elements as Budget::keep says
  // Those are the largest of each piece, but for a few; there may be fewer than the budget says.
  bool keeps_largest = false;
  bool meets_budgets = false;     // messages take at most Budget::bytes, and nearly as much
  bool on_devices = false;        // works on floats in any memory, not only on the host
  bool has_curves = false;        // divide() and missing_within() read error curves
  bool has_floors = false;        // Setting::floor has an effect whatever the allocation is
  std::size_t element_bytes = 0;  // exact cost of a kept element; 0 where it varies
};

struct Advanced {
  std::vector<std::byte> bytes;
  Form form = Form::kEmpty;
  std::uint64_t kept = 0;                   // elements that the message carries
  std::vector<std::uint32_t> piece_kept{};  // of each piece; empty: all elements
  double wanted_energy = 0;                 // ‖target‖², summed in float64 in a fixed order
  // ‖target − estimate before‖², what the message could carry; of a dense one ‖target‖².
  double energy_to_send = 0;
  double missing_energy = 0;  // ‖target − estimate after‖², to 4e-15 of that before
  // The curve of target − estimate before. Empty where it was not asked for, or no estimate is
  // kept.
  Curve curve;
};

// Scratch memory that the caller keeps between calls, so that a message allocates its bytes only.
// Thread: one at a time.
struct CompressScratch {
  std::vector<std::uint32_t> shares;
  kernels::Entries entries, floor_entries;
  kernels::SelectScratch select;
};

// One message to make.
struct AdvanceJob {
  Difference& difference;
  std::span<const Piece> pieces;
  const Setting& setting;
  CompressScratch& scratch;
  bool with_curve;
  // The message carries exactly what a pass selects, unrounded: the pass may add it to the
  // estimate.
  bool sends_selection = false;

  [[nodiscard]] std::size_t size() const;
};

// Several messages that share what their link carries. Shapes: curves, floors [messages].
struct SharedBudget {
  std::span<const Curve* const> curves;   // what each message last had to send
  std::span<const std::uint32_t> floors;  // elements that each message has room for at least
  double total = 0;                       // of all payloads together, in units of the codec
  Rounding rounding = Rounding::kTowardsZero;
};

class Codec : public KindOptions {
 public:
  // KindOptions::describe declares the keys that stand beside `compressor:` in a config and in the
  // decision log. The bytes of a message depend on these keys, the setting and the floats only.

  [[nodiscard]] virtual CodecTraits traits() const = 0;
  // The forms of its messages, whatever the values of the keys.
  [[nodiscard]] virtual std::span<const WireForm> forms() const = 0;

  // Bytes of a payload with `kept` of `size` elements: an upper bound, and the mean. bytes_min is
  // the smallest budget in bytes that the codec keeps whatever the elements are.
  [[nodiscard]] virtual std::size_t bytes_max(std::size_t kept, std::size_t size) const = 0;
  [[nodiscard]] virtual std::size_t bytes_about(std::size_t kept, std::size_t size) const;
  [[nodiscard]] virtual std::size_t bytes_min(std::size_t size) const;
  // The largest budget that `payload_bytes` hold: a number of elements where each costs the same.
  [[nodiscard]] Budget budget_within(std::size_t payload_bytes, std::size_t size) const;
  // Divides a budget among messages so that all of them together leave out least energy. Returns
  // the part of each payload; the parts sum to less than the total where nothing more is worth
  // sending. Requires has_curves.
  [[nodiscard]] virtual std::vector<double> divide(const SharedBudget& shared) const;
  // The energy that messages of these payload sizes are predicted to leave out of what the curve
  // was measured on, by size. Shapes: payload_bytes, result [sizes]. Requires has_curves, or a
  // codec of blocks (src/dense/block_codec.h).
  [[nodiscard]] virtual std::vector<double> missing_within(const Curve& curve,
                                                           std::span<const double> payload_bytes,
                                                           Rounding rounding) const;
  // Bytes of the unit that divide() counts: 1, or those of an element on the average, for codecs
  // that divide elements.
  [[nodiscard]] virtual double unit_bytes() const { return 1; }

  // size_key is the key that sets the size of messages under `policy: fixed`, such as "threshold";
  // empty where there is none. has_own_size says whether Budget::own is enough to size a message:
  // by that key, or because all messages have one size.
  [[nodiscard]] virtual std::string_view size_key() const { return {}; }
  [[nodiscard]] virtual bool has_own_size() const { return !traits().meets_budgets; }
  // Whether every message is a dense one.
  [[nodiscard]] virtual bool is_dense() const { return false; }
  // Where this codec is not contractive: the contractive one that makes gathers in its place. It
  // takes the same settings, and its messages have the same sizes. Null: gathers are dense.
  [[nodiscard]] virtual CodecPtr contractive_codec() const { return nullptr; }

  // Writes a message that moves the estimate towards the target, and adds to the estimate exactly
  // the bits that the far side adds when it decodes the message. Requires a difference with an
  // estimate, pieces that cover it, and a setting of this codec in its ranges. Errors: NotFinite,
  // with the index; the estimate is untouched then.
  [[nodiscard]] virtual Result<Advanced> advance(const AdvanceJob& job) const = 0;

  // Visits the keys of a constant codec, for visitors that only read.
  void describe_values(Keys& keys) const;
};
[[nodiscard]] bool operator==(const Codec& a, const Codec& b);

// Base of codecs that encode a vector of floats in host memory and do not look at pieces. Most
// codecs of users are like this.
class HostCodec : public Codec {
 public:
  // Appends the payload for `difference` to `bytes`, and returns its form, one of forms(). All
  // floats are finite. The budget is in setting.budget, a seed in setting.rotation.
  [[nodiscard]] virtual Form encode(std::span<const float> difference, const Setting& setting,
                                    std::vector<std::byte>& bytes) const = 0;
  // Encodes, decodes with the form's decoder, and adds the result to the estimate.
  [[nodiscard]] Result<Advanced> advance(const AdvanceJob& job) const final;
};

// The error of advance for the element at `index`, and that of decoders for malformed bytes.
[[nodiscard]] Error not_finite_at(std::size_t index);
[[nodiscard]] Error malformed(std::string what);

}  // namespace kimesh
