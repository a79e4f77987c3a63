#include "coding.h"

#include "kimesh/compress/codecs.h"
#include "message_size.h"

namespace kimesh {
namespace {

const CodecPtr& plain_codec() {
  static const CodecPtr plain = make_codec("topk");
  return plain;
}

MessageContext without_coder(const MessageContext& message) {
  MessageContext plain = message;
  plain.encode_s_per_byte = 0;
  return plain;
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

}  // namespace

Coding coding_of(const MessageContext& message, const CodecPtr& usual) {
  if (usual->kind_name() != "dzq" || !message.link.known()) return {usual, message};
  // The first times of a coder are of cold caches, and one that is measured anew does not depend on
  // what was known before.
  const bool is_due = message.round % kCodedEvery == kCodedEvery - 1;
  const bool is_measured = message.timed_encodings >= kTimedEncodingsMin;
  if (is_due && is_measured) return {usual, without_coder(message)};
  if (!is_measured || !coding_costs_more(message) || !fits_all_links(message))
    return {usual, message};
  return {plain_codec(), without_coder(message)};
}

}  // namespace kimesh
