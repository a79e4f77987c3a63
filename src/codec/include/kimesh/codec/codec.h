// The contract of a codec: how a difference of two vectors becomes bytes, and bytes become a
// difference again. Each codec is one source file with its name, its keys, its traits, the forms
// that it writes and a factory, and one line in the table of codecs.cpp. Programs that use kimesh
// as a library write codecs of their own against this header (HostCodec is the short way) and
// register them with add_codec.
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

// How a message's payload is written. The numbers are part of the wire format: a new form takes the
// next free number, none is ever given twice. 128 to 255 belong to the programs that use kimesh as
// a library. Forms without a name here are named by their codecs.
enum class Form : std::uint8_t {
  kEmpty = 0,     // no payload: control only, nothing is applied
  kDense = 1,     // float32, all elements; assigns. All others add.
  kSparse = 2,    // u32 indices, ascending, then float32 values
  kPacked = 3,    // indices and values in the formats that its first byte names: packed.h
  kSeeded = 4,    // values of a mask that both ends draw: seeded.h
  kBfloat16 = 5,  // all elements, the upper halves of float32
  kSign = 6,      // blocks of kernels/quantise.h, all elements
  kInt8 = 7,
  kInt4 = 8,
  kDzq = 9,        // dzq.h, entropy coded
  kDzqFixed = 10,  // dzq.h, fixed widths
};
inline constexpr std::uint8_t kUserFormsBegin = 128;

// ---- what a payload decodes to. Spans point into the payload.
struct AssignFloats {  // all elements, float32
  std::span<const std::byte> floats;
};
struct AddBlocks {  // something to every element
  kernels::Blocks blocks;
  std::span<const std::byte> bytes;
};
struct AddSparse {  // u32 indices, ascending, and as many float32
  std::span<const std::byte> indices, values;
};
struct AddEntries {
  kernels::Entries entries;
};
using Content = std::variant<AssignFloats, AddBlocks, AddSparse, AddEntries>;

// A form that a codec writes. `decode` reads a payload for `size` elements; what it returns is all
// finite and within the vector. Errors: Malformed, for bytes that no correct sender writes.
struct WireForm {
  Form form;
  std::string_view name;  // nodes that use different codecs for one form refuse each other
  Result<Content> (*decode)(std::span<const std::byte> payload, std::size_t size);
};

// What a codec promises, with the values that its keys have.
struct CodecTraits {
  // |C(v)_j| + |v_j − C(v)_j| = |v_j| for every element j, where values are rounded towards zero.
  // Routes of several hops need it: other errors would grow from hop to hop.
  bool conservative = false;
  bool rounds = false;  // Setting::rounding means something
  // No message leaves more than there was to send, which feedback rests on.
  bool contractive = true;
  bool keeps_elements = false;    // messages are as large as Budget::keep asks
  bool meets_budgets = false;     // messages are as large as Budget::bytes asks, never larger
  bool on_devices = false;        // the passes of kernels/memory.h do; else floats lie on the host
  bool has_curves = false;        // error curves tell what bytes are worth: divide()
  bool has_floors = false;        // Setting::floor means something whatever the allocation
  std::size_t element_bytes = 0;  // each element that is kept costs exactly so many; 0: it depends
};

struct Advanced {
  std::vector<std::byte> bytes;
  Form form = Form::kEmpty;
  std::uint64_t kept = 0;     // elements that the message carries
  double wanted_energy = 0;   // ‖target‖², summed in float64 in a fixed order
  double missing_energy = 0;  // ‖target − estimate after‖², to 4e-15 of that before
  Curve curve;  // of target − estimate before, where it was asked for and an estimate is kept
};

// Memory that the caller keeps between calls, so that a message allocates its bytes only. One
// thread at a time.
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
  // What a pass selects is sent, all of it and as it is: it may be added on the way.
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
  // KindOptions::describe declares the keys, beside `compressor:` in a config and in the decision
  // log: all that the codec's bytes depend on and that is not in Setting.

  [[nodiscard]] virtual CodecTraits traits() const = 0;
  // The forms of its messages. The same whatever the keys say.
  [[nodiscard]] virtual std::span<const WireForm> forms() const = 0;

  // Bytes of a payload with `kept` of `size` elements: at most; about, where all that is known is
  // their number; and the smallest budget that this codec keeps whatever the elements are.
  [[nodiscard]] virtual std::size_t bytes_max(std::size_t kept, std::size_t size) const = 0;
  [[nodiscard]] virtual std::size_t bytes_about(std::size_t kept, std::size_t size) const;
  [[nodiscard]] virtual std::size_t bytes_min(std::size_t size) const;
  // The largest budget that `payload_bytes` hold: in elements where each costs the same.
  [[nodiscard]] Budget budget_within(std::size_t payload_bytes, std::size_t size) const;
  // Divides a budget among messages so that all of them together leave out least energy. Returns
  // the part of each payload; the parts sum to less than the total where nothing more is worth
  // sending. Requires has_curves.
  [[nodiscard]] virtual std::vector<double> divide(const SharedBudget& shared) const;
  // Bytes of the unit that divide() counts: 1, or those of an element on the average, for codecs
  // that divide elements.
  [[nodiscard]] virtual double unit_bytes() const { return 1; }

  // The key that sets the size of its messages under `policy: fixed`, such as "threshold"; empty:
  // there is none. `has_own_size`: whether a message is sized with Budget::own, by that key or
  // because all messages have one size.
  [[nodiscard]] virtual std::string_view size_key() const { return {}; }
  [[nodiscard]] virtual bool has_own_size() const { return !traits().meets_budgets; }
  // Whether every message is what a dense one would be.
  [[nodiscard]] virtual bool is_dense() const { return false; }

  // Writes the message that brings the estimate nearer to the target, and adds to the estimate what
  // the far side will add when it decodes the bytes: the same bits. Requires a difference with an
  // estimate, pieces that cover it and a setting of this codec in its ranges. Errors: NotFinite,
  // with the index; the estimate is untouched then.
  [[nodiscard]] virtual Result<Advanced> advance(const AdvanceJob& job) const = 0;

  // Visits the keys of a codec that nobody may change: for visitors that only read.
  void describe_values(Keys& keys) const;
};
[[nodiscard]] bool operator==(const Codec& a, const Codec& b);

// A codec that codes one vector of floats in host memory, without looking at pieces: what most
// codecs of users are.
class HostCodec : public Codec {
 public:
  // Appends to `bytes` what brings the difference over, and returns its form. All floats are
  // finite. A budget is in setting.budget, a seed in setting.rotation.
  [[nodiscard]] virtual Form encode(std::span<const float> difference, const Setting& setting,
                                    std::vector<std::byte>& bytes) const = 0;
  // Encodes, decodes with the form's own decoder, and adds.
  [[nodiscard]] Result<Advanced> advance(const AdvanceJob& job) const final;
};

// What advance says of the element at `index`, and decoders of bytes that no correct peer sends.
[[nodiscard]] Error not_finite_at(std::size_t index);
[[nodiscard]] Error malformed(std::string what);

}  // namespace kimesh
