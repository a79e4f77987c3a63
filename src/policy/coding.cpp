#include "coding.h"

#include "kimesh/compress/codecs.h"
#include "message_size.h"

namespace kimesh {
namespace {

// A shared message goes over every link of its tree. A limit that does not grow, and that no dense
// message fits into, is that of a link which is slow.
bool fits_all_links(const MessageContext& message) {
  if (message.limit_bytes == 0) return true;
  constexpr double kGrows = 1.2;
  return message.limit_bytes >= whole_bytes(dense_bytes(message.elements), message) ||
         static_cast<double>(message.limit_bytes) >
             kGrows * static_cast<double>(message.proven_bytes);
}

bool coding_costs_more(const MessageContext& message) {
  const double coding = message.hops * message.encode_s_per_byte;
  const double wire = message.slots / bounding_rate(message);
  return coding > (kBytesOfPlain - 1) * wire;
}

}  // namespace

Coding coding_of(const MessageContext& message, const CodecPtr& usual) {
  const bool is_due = message.round % kCodedEvery == kCodedEvery - 1;
  if (usual->kind_name() != "dzq" || !message.link.known() || is_due ||
      !coding_costs_more(message) || !fits_all_links(message))
    return {usual, message};
  static const CodecPtr plain = make_codec("topk");
  Coding coding{plain, message};
  coding.message.encode_s_per_byte = 0;
  return coding;
}

}  // namespace kimesh
