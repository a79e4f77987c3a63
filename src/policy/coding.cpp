#include "coding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kimesh/compress/codecs.h"
#include "kimesh/policy/even_bits.h"
#include "message_size.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

const CodecPtr& plain_codec() {
  static const CodecPtr plain = make_codec("topk");
  return plain;
}

// A codec whose messages have one size.
struct Blocks {
  CodecPtr codec;
  bool leave_out_little;  // so little that no other codec is compared
};
// By size, the largest first.
std::span<const Blocks> all_blocks() {
  static const std::array<Blocks, 4> all{{{make_codec("int8"), true},
                                          {make_codec("int4"), true},
                                          {make_codec("sign2"), false},
                                          {make_codec("sign"), false}}};
  return all;
}

MessageContext without_coder(const MessageContext& message) {
  MessageContext plain = message;
  plain.encode_time = Duration{0};
  plain.encode_s_per_byte = 0;
  return plain;
}

Coding within_budget(const CodecPtr& codec, const MessageContext& message) {
  const std::size_t budget = budget_bytes(message.round_time, message, *codec);
  return {codec, budget, payload_that_fits(budget, message)};
}

// A shared message goes over every link of its tree. A limit far below what this node's own link
// would take, and that no dense message fits into, is that of a link which is slow.
bool fits_all_links(const MessageContext& message) {
  if (message.limit_bytes == 0 ||
      message.limit_bytes >= whole_bytes(dense_bytes(message.elements), message))
    return true;
  constexpr double kAlike = 1.2;
  MessageContext alone = without_coder(message);
  alone.limit_bytes = 0;
  const std::size_t own = budget_bytes(message.round_time, alone, *plain_codec());
  return kAlike * static_cast<double>(message.limit_bytes) >= static_cast<double>(own);
}

bool coding_costs_more(const MessageContext& message) {
  return encoding_s_per_byte(message) > (kBytesOfPlain - 1) * wire_s_per_byte(message);
}

// The codec with the largest block message that fits into `payload_bytes` (kBlocksOver); null: none
// fits, or none suits the route.
const Blocks* largest_blocks(std::size_t payload_bytes, const MessageContext& message) {
  const double over = message.round_time_is_searched ? kBlocksOver : 1;
  const double most = over * static_cast<double>(payload_bytes);
  for (const Blocks& blocks : all_blocks()) {
    if (message.is_compressed_again && !blocks.codec->traits().conservative) continue;
    const std::size_t bytes = blocks.codec->bytes_max(message.elements, message.elements);
    if (static_cast<double>(bytes) <= most) return &blocks;
  }
  return nullptr;
}

double missing_of(const Coding& coding, const MessageContext& message) {
  const std::array payload{static_cast<double>(coding.payload_bytes)};
  return coding.codec->missing_within(*message.curve, payload, rounding_on(message)).front();
}

struct Candidates {
  Coding usual;
  std::optional<Coding> uncoded;  // blocks, topk or dense; it is taken, unless both are compared
  bool compares = false;          // both were predicted, and is_better_uncoded() decides
  bool signs_fit = false;         // `uncoded` is signs, or topk that leaves out less than signs
};

// Whether a message is better without the coder. Where signs fit, the codec is taken that costs a
// round less by delay and coding together: delays are small enough to cost in proportion. Where
// they do not fit, topk may be late by a hundred rounds, and the codec that leaves out less is
// taken.
bool is_better_uncoded(const Candidates& its, const MessageContext& message) {
  const double missing = *its.uncoded->missing, of_usual = *its.usual.missing;
  if (!its.signs_fit || message.delay_cost_s == 0) return missing <= of_usual;
  const double whole = energy_of(*message.curve);
  const double later = delay_of(missing, whole) - delay_of(of_usual, whole);
  const double coding_s = message.encode_s_per_byte * static_cast<double>(its.usual.payload_bytes);
  return message.delay_cost_s * later <= coding_s;
}

Candidates candidates_for(const MessageContext& message, const CodecPtr& usual) {
  Candidates its{within_budget(usual, message), {}};
  if (usual->kind_name() != "dzq" || !message.link.known()) return its;
  // The first times of a coder are of cold caches, and one that is measured anew does not depend on
  // what was known before.
  const bool is_due = message.round % kCodedEvery == kCodedEvery - 1;
  const bool is_measured = message.timed_encodings >= kTimedEncodingsMin;
  if (!is_measured) return its;
  const MessageContext without = without_coder(message);
  if (is_due) {
    its.usual = within_budget(usual, without);
    return its;
  }
  const Coding plain = within_budget(plain_codec(), without);
  const bool is_dense = dense_bytes(message.elements) <= plain.payload_bytes;
  const Blocks* blocks = is_dense ? nullptr : largest_blocks(plain.payload_bytes, message);
  const bool may_be_plain = coding_costs_more(message) && fits_all_links(message);
  if (blocks == nullptr) {
    if (may_be_plain || is_dense) its.uncoded = plain;
    its.compares = may_be_plain && !is_dense && message.curve != nullptr;
    if (its.compares) its.uncoded->missing = missing_of(plain, message);
    return its;
  }
  const std::size_t blocks_bytes = blocks->codec->bytes_max(message.elements, message.elements);
  its.uncoded =
      Coding{blocks->codec, std::max(plain.budget_bytes, whole_bytes(blocks_bytes, message)),
             blocks_bytes};
  if (blocks->leave_out_little) return its;
  if (message.curve == nullptr) {
    its.uncoded = may_be_plain ? std::optional(plain) : std::nullopt;
    return its;
  }
  its.compares = its.signs_fit = true;
  its.uncoded->missing = missing_of(*its.uncoded, message);
  const double of_plain = missing_of(plain, message);
  if (of_plain < *its.uncoded->missing) {
    its.uncoded = plain;
    its.uncoded->missing = of_plain;
  }
  return its;
}

double bits_of(std::size_t payload_bytes, std::size_t elements) {
  return 8 * static_cast<double>(payload_bytes) / static_cast<double>(elements);
}

// Bits an element, of many elements.
double bits_of(const Blocks& blocks) {
  constexpr std::size_t kMany = std::size_t{1} << 20;
  return bits_of(blocks.codec->bytes_max(kMany, kMany), kMany);
}

// The block codecs of even messages: int8 and int4. sign2 needs ten times as many bits as kEvenBits
// and saves an eighth of the rounds, which take a third longer (docs/experiments.md).
std::span<const Blocks> even_blocks() {
  return all_blocks().first(2);
}

// Requires bits that the mesh has agreed on. One round of kCodedEvery times the coder here, too.
Coding even_coding(const MessageContext& message, const CodecPtr& usual) {
  const double bits = message.even_bits;
  const auto of = [&](const CodecPtr& codec, std::size_t payload) {
    return Coding{codec, whole_bytes(payload, message), payload};
  };
  if (bits >= kBitsOfDense) return of(usual, dense_bytes(message.elements));
  const bool is_due = message.round % kCodedEvery == kCodedEvery - 1;
  for (const Blocks& blocks : even_blocks())
    if (!is_due && bits_of(blocks) <= bits)
      return of(blocks.codec, blocks.codec->bytes_max(message.elements, message.elements));
  return of(usual, static_cast<std::size_t>(bits / 8 * static_cast<double>(message.elements)));
}

// Fills in what the codings of one codec are predicted to leave out.
void predict(std::span<Coding* const> codings, const MessageContext& message) {
  if (codings.empty()) return;
  std::vector<double> payloads;
  for (const Coding* coding : codings)
    payloads.push_back(static_cast<double>(coding->payload_bytes));
  const Codec& codec = *codings.front()->codec;
  const auto missing = codec.missing_within(*message.curve, payloads, rounding_on(message));
  for (std::size_t i = 0; i < codings.size(); ++i) codings[i]->missing = missing[i];
}

// The bits b that make (1 + (kHalfBits / b)²) · (1 + b / (2 room)) least, rounds to a target times
// their length in gradients: the root of b³ = kHalfBits² · (b + 4 room).
double best_bits_of_unlike_data(double room) {
  constexpr int kSteps = 20;  // each leaves a third of the error
  double bits = kEvenBits;
  for (int i = 0; i < kSteps; ++i) bits = std::cbrt(kHalfBits * kHalfBits * (bits + 4 * room));
  return bits;
}

}  // namespace

double even_bits_of_like_data(double room) {
  if (room >= kBitsOfDense) return kBitsOfDense;
  return room < kRoomForEvenBits ? 0 : std::clamp(room, kLeastEvenBits, kEvenBits);
}

double even_bits_of_unlike_data(double room) {
  if (room >= kBitsOfDense) return kBitsOfDense;
  for (const Blocks& blocks : even_blocks())
    if (bits_of(blocks) <= kBlocksOver * room) return bits_of(blocks);
  return std::min(best_bits_of_unlike_data(room), kEvenBits);
}

std::size_t budget_without_coder(const MessageContext& message, const CodecPtr& usual) {
  return within_budget(usual, without_coder(message)).budget_bytes;
}

Coding coding_of(const MessageContext& message, const CodecPtr& usual) {
  return codings_of(std::span(&message, 1), usual).front();
}

std::vector<Coding> codings_of(std::span<const MessageContext> messages, const CodecPtr& usual) {
  if (messages.front().even_bits > 0 && messages.front().link.known()) {
    std::vector<Coding> codings;
    for (const MessageContext& message : messages) codings.push_back(even_coding(message, usual));
    return codings;
  }
  std::vector<Candidates> all;
  for (const MessageContext& message : messages) all.push_back(candidates_for(message, usual));
  std::vector<Coding*> compared;
  for (Candidates& its : all)
    if (its.compares) compared.push_back(&its.usual);
  predict(compared, messages.front());
  std::vector<Coding> codings;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Candidates& its = all[i];
    const bool is_uncoded = its.uncoded && (!its.compares || is_better_uncoded(its, messages[i]));
    codings.push_back(is_uncoded ? *its.uncoded : its.usual);
  }
  return codings;
}

double delay_of(double missing, double whole) {
  constexpr double kDelayMax = 1 / kFloorRatio;
  const double sent = whole - missing;
  return sent > 0 ? std::min(missing / sent, kDelayMax) : kDelayMax;
}

void predict_missing(std::span<Coding> codings, const MessageContext& message) {
  std::vector<Coding*> left;
  for (Coding& coding : codings)
    if (!coding.missing) left.push_back(&coding);
  while (!left.empty()) {
    const CodecPtr codec = left.front()->codec;
    const auto others = std::partition(
        left.begin(), left.end(), [&](const Coding* coding) { return coding->codec == codec; });
    predict(std::span(left.begin(), others), message);
    left.erase(left.begin(), others);
  }
}

}  // namespace kimesh
