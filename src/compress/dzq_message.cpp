#include "src/compress/dzq_message.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kimesh/util/check.h"
#include "src/compress/families.h"
#include "src/compress/read.h"

namespace kimesh::dzq {
namespace {

constexpr int kStepExponent = -157;
constexpr std::uint32_t kStepsAnOctave = 256;

constexpr unsigned kNearestFlag = 1, kSegmentsFlag = 2, kStateShift = 2, kStateMask = 7;
constexpr unsigned kFlagsMax = kStateMask << kStateShift | kSegmentsFlag | kNearestFlag;

void put_varint(std::uint64_t value, std::vector<std::byte>& bytes) {
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<std::byte>(value % 128 | 128));
  bytes.push_back(static_cast<std::byte>(value));
}

// Reads from the front of bytes; what is not there is 0 and tells so at the end.
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
  // Under 2^35.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const std::uint32_t next = byte();
      value |= std::uint64_t{next % 128} << shift;
      if (next < 128) {
        good_ &= next > 0 || shift == 0;
        return value;
      }
    }
    good_ = false;
    return value;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

// Errors: Malformed. At most as many as bytes are left.
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

struct Opened {
  Head head;
  std::size_t count = 0;
  unsigned state_bytes = 0;
  std::span<const std::byte> coded;
};

Result<Opened> open(std::span<const std::byte> bytes, std::size_t size) {
  Reader reader(bytes);
  Opened opened;
  const std::uint32_t flags = reader.byte();
  if (flags > kFlagsMax) return malformed("flags that nobody sets");
  Head& head = opened.head;
  head.rounding = (flags & kNearestFlag) != 0 ? Rounding::kNearest : Rounding::kTowardsZero;
  head.step = reader.byte();
  head.step |= reader.byte() << 8;
  head.dead_zone = reader.byte();
  if (head.rounding == Rounding::kNearest) {
    const std::uint32_t both = reader.byte();
    head.centroids = {both % 16, both / 16};
  }
  opened.count = reader.varint();
  if (!reader.good()) return malformed("a head that is cut or too long");
  if (head.dead_zone == 0) return malformed("no dead zone");
  if (opened.count == 0 || opened.count > size || size > (std::size_t{1} << 31))
    return malformed(std::to_string(opened.count) + " of " + std::to_string(size) + " elements");
  if ((flags & kSegmentsFlag) != 0)
    if (Status good = read_segments(reader, size, head.segments); !good) return good.error();
  opened.state_bytes = 1 + (flags >> kStateShift & kStateMask);
  opened.coded = reader.rest();
  return opened;
}

}  // namespace

double step_of(std::uint32_t code) {
  return std::ldexp(static_cast<double>(kStepsAnOctave + code % kStepsAnOctave),
                    static_cast<int>(code / kStepsAnOctave) + kStepExponent);
}

std::uint32_t step_code_of(double step) {
  int exponent;
  const double fraction = std::frexp(step, &exponent);  // [1/2, 1)
  const int octave = exponent - 9 - kStepExponent;
  if (octave < 0) return 0;
  const auto steps = static_cast<std::uint32_t>(fraction * 2 * kStepsAnOctave) - kStepsAnOctave;
  return std::min(static_cast<std::uint32_t>(octave) * kStepsAnOctave + steps, kStepCodes - 1);
}

Quantiser::Quantiser(const Head& head, std::uint32_t shift)
    : step_(std::ldexp(step_of(head.step), -static_cast<int>(shift))),
      inverse_(1 / step_),
      dead_zone_(step_ * head.dead_zone / 16),
      relative_dead_zone_(head.dead_zone / 16.0),
      unit_(step_ / 32) {
  offsets_.fill(2.0 * head.dead_zone);
  if (head.rounding == Rounding::kTowardsZero) return;
  const std::uint32_t first = 2 * head.centroids[0] + 1, second = 2 * head.centroids[1] + 1;
  offsets_[0] += first;
  offsets_[1] += second;
  offsets_[2] += (second + 16.0) / 2;
}

std::uint32_t Quantiser::level(float magnitude) const {
  const double wanted = double{magnitude} * inverse_ - relative_dead_zone_;
  const auto level =
      static_cast<std::uint32_t>(std::clamp(wanted, 0.0, static_cast<double>(rans::kLevelMax)));
  // The product was rounded, perhaps up to the next level.
  const bool over = level > 0 && dead_zone_ + step_ * level > double{magnitude};
  return level - (over ? 1 : 0);
}

void write(const Head& head, const rans::Elements& elements, std::size_t size,
           rans::Scratch& scratch, std::vector<std::byte>& bytes) {
  const bool nearest = head.rounding == Rounding::kNearest;
  const std::size_t flags_at = bytes.size();
  bytes.push_back({});
  bytes.push_back(static_cast<std::byte>(head.step % 256));
  bytes.push_back(static_cast<std::byte>(head.step / 256));
  bytes.push_back(static_cast<std::byte>(head.dead_zone));
  if (nearest) bytes.push_back(static_cast<std::byte>(head.centroids[0] | head.centroids[1] << 4));
  put_varint(elements.indices.size(), bytes);
  if (!head.segments.empty()) {
    put_varint(head.segments.size(), bytes);
    std::size_t end = 0;
    for (const Segment& segment : head.segments) {
      put_varint(segment.begin - end, bytes);
      put_varint(segment.end - segment.begin, bytes);
      bytes.push_back(static_cast<std::byte>(segment.shift));
      end = segment.end;
    }
  }
  const unsigned state_bytes = rans::encode(elements.indices, elements.marks, size, scratch, bytes);
  bytes[flags_at] =
      static_cast<std::byte>((state_bytes - 1) << kStateShift | (nearest ? kNearestFlag : 0) |
                             (head.segments.empty() ? 0 : kSegmentsFlag));
}

Status dequantise(const Head& head, const rans::Elements& elements,
                  kernels::Unfilled<float>& values) {
  values.resize(elements.marks.size());
  const Quantiser global(head, 0);
  auto segment = head.segments.begin();
  std::size_t i = 0;
  float largest = 0;
  const auto run = [&](const Quantiser& quantiser, std::size_t end) {
    for (; i < values.size() && elements.indices[i] < end; ++i) {
      const float magnitude = quantiser.magnitude(elements.marks[i] >> 1);
      largest = std::max(largest, magnitude);
      values[i] = (elements.marks[i] & 1) != 0 ? -magnitude : magnitude;
    }
  };
  for (; segment != head.segments.end(); ++segment) {
    run(global, segment->begin);
    run(Quantiser(head, segment->shift), segment->end);
  }
  run(global, rans::kSizeMax);
  if (!std::isfinite(largest)) return malformed("a level that is no float32");
  return ok_status();
}

Status read(std::span<const std::byte> bytes, std::size_t size, kernels::Entries& entries) {
  entries.clear();
  if (bytes.empty()) return ok_status();
  auto opened = open(bytes, size);
  if (!opened) return opened.error();
  rans::Elements elements;
  const rans::Plan plan{opened->count, size, true, opened->state_bytes};
  if (Status decoded = rans::decode(opened->coded, plan, elements); !decoded) return decoded;
  if (Status finite = dequantise(opened->head, elements, entries.values); !finite) return finite;
  entries.indices = std::move(elements.indices);
  return ok_status();
}

}  // namespace kimesh::dzq
