#include "message.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
#include "kimesh/util/check.h"
#include "kimesh/util/leb128.h"

namespace kimesh::dzq {
namespace {

constexpr unsigned kNearestFlag = 1, kSegmentsFlag = 2, kStateShift = 2, kStateMask = 7,
                   kDoublingFlag = 4;
constexpr unsigned kFlagsMax = kStateMask << kStateShift | kSegmentsFlag | kNearestFlag;

void put_segments(std::span<const Segment> segments, std::vector<std::byte>& bytes) {
  if (segments.empty()) return;
  put_leb128(segments.size(), bytes);
  std::size_t end = 0;
  for (const Segment& segment : segments) {
    put_leb128(segment.begin - end, bytes);
    put_leb128(segment.end - segment.begin, bytes);
    bytes.push_back(static_cast<std::byte>(segment.shift));
    end = segment.end;
  }
}

std::size_t head_bytes(const Head& head, std::size_t count) {
  constexpr std::size_t kFixedPart = 4;
  std::vector<std::byte> varying;
  put_leb128(count, varying);
  put_segments(head.segments, varying);
  return kFixedPart + (head.rounding == Rounding::kNearest ? 1 : 0) + varying.size();
}

// Reads from the front of bytes. A number that is cut off or badly written reads as 0 and clears
// good().
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint32_t byte() {
    if (bytes_.empty()) {
      good_ = false;
      return 0;
    }
    const auto value = std::to_integer<std::uint32_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return value;
  }
  // A number under 2^35.
  std::uint64_t varint() {
    const std::optional<std::uint64_t> value = take_leb128(bytes_);
    good_ &= value.has_value();
    return value.value_or(0);
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

// Reads at most as many segments as bytes are left. Errors: Malformed.
Status read_segments(Reader& reader, std::size_t size, std::vector<Segment>& segments) {
  const std::uint64_t number = reader.varint();
  if (number == 0 || number > reader.rest().size()) return malformed("a number of segments");
  std::uint64_t end = 0;
  for (std::uint64_t s = 0; s < number; ++s) {
    const std::uint64_t begin = end + reader.varint();
    end = begin + reader.varint();
    const std::uint32_t shift = reader.byte();
    if (!reader.good() || begin >= end || end > size || shift == 0)
      return malformed("segment " + std::to_string(s));
    segments.push_back({begin, end, shift});
  }
  return ok_status();
}

struct ParsedMessage {
  Head head;
  std::size_t count = 0;
  unsigned state_bytes = 0;
  std::span<const std::byte> coded;
};

Result<ParsedMessage> parse(std::span<const std::byte> bytes, std::size_t size) {
  Reader reader(bytes);
  ParsedMessage parsed;
  const std::uint32_t flags = reader.byte();
  if (flags > kFlagsMax) return malformed("flags that nobody sets");
  Head& head = parsed.head;
  head.rounding = (flags & kNearestFlag) != 0 ? Rounding::kNearest : Rounding::kTowardsZero;
  head.step = reader.byte();
  head.step |= reader.byte() << 8;
  head.dead_zone = reader.byte();
  if (head.rounding == Rounding::kNearest) {
    const std::uint32_t both = reader.byte();
    head.centroids = {both % 16, both / 16};
  }
  parsed.count = reader.varint();
  if (!reader.good()) return malformed("a head that is cut or too long");
  if (head.dead_zone == 0) return malformed("no dead zone");
  if (parsed.count == 0 || parsed.count > size || size > (std::size_t{1} << 31))
    return malformed(std::to_string(parsed.count) + " of " + std::to_string(size) + " elements");
  if ((flags & kSegmentsFlag) != 0)
    if (Status good = read_segments(reader, size, head.segments); !good) return good.error();
  parsed.state_bytes = 1 + (flags >> kStateShift & kStateMask);
  parsed.coded = reader.rest();
  return parsed;
}

}  // namespace

std::size_t measure(const Head& head, const rans::Elements& elements, std::size_t size,
                    rans::Scratch& scratch) {
  const std::size_t before = head_bytes(head, elements.indices.size());
  return before + rans::measure(elements.indices, elements.marks, size, scratch) / 8 + 1;
}

void write(const Head& head, const rans::Elements& elements, rans::Scratch& scratch,
           std::vector<std::byte>& bytes) {
  const bool nearest = head.rounding == Rounding::kNearest;
  const std::size_t flags_at = bytes.size();
  bytes.push_back({});
  bytes.push_back(static_cast<std::byte>(head.step % 256));
  bytes.push_back(static_cast<std::byte>(head.step / 256));
  bytes.push_back(static_cast<std::byte>(head.dead_zone));
  if (nearest) bytes.push_back(static_cast<std::byte>(head.centroids[0] | head.centroids[1] << 4));
  put_leb128(elements.indices.size(), bytes);
  put_segments(head.segments, bytes);
  unsigned flags = (nearest ? kNearestFlag : 0) | (head.segments.empty() ? 0 : kSegmentsFlag);
  flags |= (rans::write(elements.indices, elements.marks, scratch, bytes) - 1) << kStateShift;
  bytes[flags_at] = static_cast<std::byte>(flags);
}

Status dequantise(const Head& head, const rans::Elements& elements,
                  kernels::UninitializedVector<float>& values) {
  values.resize(elements.marks.size());
  std::size_t next = 0;
  float largest = 0;
  const auto run = [&](const Quantiser& quantiser, std::size_t end) {
    const auto from = elements.indices.begin() + static_cast<std::ptrdiff_t>(next);
    const auto last = static_cast<std::size_t>(std::lower_bound(from, elements.indices.end(), end) -
                                               elements.indices.begin());
    for (; next < last; ++next) {
      const float magnitude = quantiser.magnitude(elements.marks[next] >> 1);
      largest = std::max(largest, magnitude);
      values[next] = (elements.marks[next] & 1) != 0 ? -magnitude : magnitude;
    }
  };
  const Quantiser global(head, 0);
  for (const Segment& segment : head.segments) {
    run(global, segment.begin);
    run(Quantiser(head, segment.shift), segment.end);
  }
  run(global, rans::kSizeMax);
  if (!std::isfinite(largest)) return malformed("a level that is no float32");
  return ok_status();
}

Status read(std::span<const std::byte> bytes, std::size_t size, kernels::Entries& entries) {
  entries.clear();
  if (bytes.empty()) return ok_status();
  auto parsed = parse(bytes, size);
  if (!parsed) return parsed.error();
  rans::Elements elements;
  const rans::DecodeParameters parameters{parsed->count, size, true, parsed->state_bytes};
  if (Status good = rans::decode(parsed->coded, parameters, elements); !good)
    return malformed(good.error().message);
  if (Status finite = dequantise(parsed->head, elements, entries.values); !finite) return finite;
  entries.indices = std::move(elements.indices);
  return ok_status();
}

}  // namespace kimesh::dzq
