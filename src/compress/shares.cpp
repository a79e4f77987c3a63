#include <algorithm>
#include <cstdint>
#include <limits>

#include "kimesh/compress/compressor.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);
// The golden ratio's fraction as a 32-bit fixed-point number: its multiples are spread evenly.
constexpr std::uint32_t kGoldenFraction = 2654435769u;

}  // namespace

std::uint32_t topk_that_fits(std::size_t budget_bytes, std::size_t size) {
  KIMESH_CHECK(size <= std::numeric_limits<std::uint32_t>::max(), "indices fit 32 bits");
  return static_cast<std::uint32_t>(std::min(budget_bytes / kEntryBytes, size));
}

void share_out(std::uint32_t keep, std::uint32_t rotation, std::span<const Piece> pieces,
               std::span<std::uint32_t> shares) {
  KIMESH_CHECK(pieces.size() == shares.size(), "one share for each piece");
  std::uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.size;
  KIMESH_CHECK(total <= std::numeric_limits<std::uint32_t>::max(), "indices fit 32 bits");
  KIMESH_CHECK(keep <= total, "no more is kept than there is");
  std::ranges::fill(shares, 0u);
  if (total == 0) return;
  // With f in [0, 1) in steps of 2^-32, the first pieces up to position p get floor(keep·p/n + f)
  // together: exact in 64 bits, because keep, p and n have 32. f = 1 − rounding_up_from.
  const std::uint64_t fraction = rotation * kGoldenFraction;
  const std::uint64_t rounding_up_from = (std::uint64_t{1} << 32) - fraction;
  std::uint64_t position = 0, given = 0;
  for (std::size_t l = 0; l < pieces.size(); ++l) {
    position += pieces[l].size;
    const std::uint64_t product = std::uint64_t{keep} * position;
    const std::uint64_t remainder = product % total;
    const bool up = (remainder << 32) >= total * rounding_up_from;
    const std::uint64_t due = product / total + (up ? 1 : 0);
    shares[l] = static_cast<std::uint32_t>(due - given);
    given = due;
  }
}

}  // namespace kimesh
