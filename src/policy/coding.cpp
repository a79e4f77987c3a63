#include "coding.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kimesh/compress/codecs.h"
#include "message_size.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

const CodecPtr& plain_codec() {
  static const CodecPtr plain = make_codec("topk");
  return plain;
}

// By size. Those before the last leave out so little that nothing smaller is looked for.
struct BlockCodec {
  CodecPtr codec;
  bool leaves_out_little;
};
std::span<const BlockCodec> block_codecs() {
  static const std::array<BlockCodec, 3> all{
      {{make_codec("int8"), true}, {make_codec("int4"), true}, {make_codec("sign"), false}}};
  return all;
}

MessageContext without_coder(const MessageContext& message) {
  MessageContext plain = message;
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

// The largest block message that so many bytes hold, or nearly so; null: none does, or none suits
// the route.
const BlockCodec* largest_block(std::size_t payload_bytes, const MessageContext& message) {
  const double most = kBlocksOver * static_cast<double>(payload_bytes);
  for (const BlockCodec& block : block_codecs()) {
    if (message.is_compressed_again && !block.codec->traits().conservative) continue;
    const std::size_t bytes = block.codec->bytes_max(message.elements, message.elements);
    if (static_cast<double>(bytes) <= most) return &block;
  }
  return nullptr;
}

double missing_of(const Coding& coding, const MessageContext& message) {
  const std::array payload{static_cast<double>(coding.payload_bytes)};
  return coding.codec->missing_within(*message.curve, payload, rounding_on(message)).front();
}

// What a message can be made with.
struct Candidates {
  Coding usual;
  std::optional<Coding> copied;  // without the coder
  bool compares = false;         // by their curve; else `copied` is taken where it is there
};

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
  const BlockCodec* block = is_dense ? nullptr : largest_block(plain.payload_bytes, message);
  const bool may_be_plain = coding_costs_more(message) && fits_all_links(message);
  if (block == nullptr) {
    if (may_be_plain || is_dense) its.copied = plain;
    return its;
  }
  const std::size_t block_bytes = block->codec->bytes_max(message.elements, message.elements);
  its.copied = Coding{block->codec, plain.budget_bytes, block_bytes};
  if (block->leaves_out_little) return its;
  if (message.curve == nullptr) {
    its.copied = may_be_plain ? std::optional(plain) : std::nullopt;
    return its;
  }
  its.compares = true;
  its.copied->missing = missing_of(*its.copied, message);
  const double of_plain = missing_of(plain, message);
  if (of_plain < *its.copied->missing) {
    its.copied = plain;
    its.copied->missing = of_plain;
  }
  return its;
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

}  // namespace

std::size_t copied_budget(const MessageContext& message, const CodecPtr& usual) {
  return within_budget(usual, without_coder(message)).budget_bytes;
}

Coding coding_of(const MessageContext& message, const CodecPtr& usual) {
  return codings_of(std::span(&message, 1), usual).front();
}

std::vector<Coding> codings_of(std::span<const MessageContext> messages, const CodecPtr& usual) {
  std::vector<Candidates> all;
  for (const MessageContext& message : messages) all.push_back(candidates_for(message, usual));
  std::vector<Coding*> compared;
  for (Candidates& its : all)
    if (its.compares) compared.push_back(&its.usual);
  predict(compared, messages.front());
  std::vector<Coding> codings;
  for (const Candidates& its : all) {
    const bool copies = its.copied && (!its.compares || *its.copied->missing <= *its.usual.missing);
    codings.push_back(copies ? *its.copied : its.usual);
  }
  return codings;
}

void predict_missing(std::span<Coding> codings, const MessageContext& message) {
  std::vector<Coding*> left;
  for (Coding& coding : codings)
    if (!coding.missing) left.push_back(&coding);
  while (!left.empty()) {
    const CodecPtr codec = left.front()->codec;
    const auto others =
        std::ranges::partition(left, [&](const Coding* coding) { return coding->codec == codec; });
    predict(std::span(left.begin(), others.begin()), message);
    left.assign(others.begin(), others.end());
  }
}

}  // namespace kimesh
