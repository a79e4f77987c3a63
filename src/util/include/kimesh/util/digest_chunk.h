// The parts of digest_floats, for implementations other than util/digest.cpp: eight workers that
// share nothing but a chunk's bytes hash the chunk, and chunks are hashed in any order. All
// functions also run on a GPU.
//
//   digest_floats(x) = finish(Σ_c place(XXH3(chunk c of x), c), size)      sums modulo 2^64
//
// Chunks have 1024 floats, the last is filled up with zeros. XXH3 is that of xxHash's specification
// (version 0.8) with a secret of 192 bytes, kDigestSecret; for a chunk it is 64 stripes of 8 words:
// word i of every stripe goes to lane i, and the lanes are merged at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kimesh {

inline constexpr std::size_t kDigestChunkFloats = 1024;
inline constexpr std::size_t kDigestLanes = 8;             // words of a stripe
inline constexpr std::size_t kDigestStripes = 64;          // of a chunk
inline constexpr std::size_t kDigestStripesPerBlock = 16;  // after each block the lanes are mixed

// Steele, Lea, Flood: SplitMix, 2014. Mixes 64 bits.
[[nodiscard]] constexpr std::uint64_t digest_mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Little-endian words, the first 24 of SplitMix from 0.
using DigestSecret = std::array<std::uint64_t, 24>;
[[nodiscard]] constexpr DigestSecret make_digest_secret() {
  DigestSecret secret{};
  for (std::size_t i = 0; i < secret.size(); ++i)
    secret[i] = digest_mix((i + 1) * 0x9e3779b97f4a7c15u);
  return secret;
}
inline constexpr DigestSecret kDigestSecret = make_digest_secret();

// The start value of lane `i`.
[[nodiscard]] constexpr std::uint64_t digest_lane_start(std::size_t i) {
  constexpr std::array<std::uint64_t, kDigestLanes> kStart = {
      0xc2b2ae3d,         0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
      0x85ebca77c2b2ae63, 0x85ebca77,         0x27d4eb2f165667c5, 0x9e3779b1};
  return kStart[i];
}

// Lane `i` after stripe `stripe`, whose words i and i ^ 1 are `own` and `neighbour`. Stripes come
// in order.
[[nodiscard]] constexpr std::uint64_t digest_lane(std::uint64_t lane, std::size_t i,
                                                  std::size_t stripe, std::uint64_t own,
                                                  std::uint64_t neighbour,
                                                  const DigestSecret& secret) {
  const std::size_t s = stripe % kDigestStripesPerBlock;
  const bool last = stripe + 1 == kDigestStripes;  // its key begins seven bytes before the others'
  const std::uint64_t key = last ? secret[s + i] >> 8 | secret[s + i + 1] << 56 : secret[s + i];
  const std::uint64_t keyed = own ^ key;
  lane += neighbour + (keyed & 0xffffffff) * (keyed >> 32);
  if (s + 1 != kDigestStripesPerBlock || last) return lane;
  return ((lane ^ lane >> 47) ^ secret[kDigestStripesPerBlock + i]) * 0x9e3779b1u;
}

// The contribution of the lanes 2 pair and 2 pair + 1 to the chunk's hash.
[[nodiscard]] constexpr std::uint64_t digest_lane_pair(std::uint64_t even, std::uint64_t odd,
                                                       std::size_t pair,
                                                       const DigestSecret& secret) {
  const std::size_t w = 1 + 2 * pair;  // the keys begin three bytes into this word
  const std::uint64_t a = even ^ (secret[w] >> 24 | secret[w + 1] << 40);
  const std::uint64_t b = odd ^ (secret[w + 1] >> 24 | secret[w + 2] << 40);
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The chunk's hash, of the sum of its four pairs.
[[nodiscard]] constexpr std::uint64_t digest_chunk(std::uint64_t sum_of_pairs) {
  std::uint64_t hash =
      sum_of_pairs + kDigestChunkFloats * sizeof(float) * std::uint64_t{0x9e3779b185ebca87};
  hash = (hash ^ hash >> 37) * 0x165667919e3779f9u;
  return hash ^ hash >> 32;
}

// The summand of chunk `c` in the digest.
[[nodiscard]] constexpr std::uint64_t digest_place(std::uint64_t hash, std::uint64_t c) {
  return digest_mix(hash + (c + 1) * 0x9e3779b97f4a7c15u);
}

// The digest of `size` floats, of the sum over their chunks. Never 0.
[[nodiscard]] constexpr std::uint64_t digest_finish(std::uint64_t sum, std::uint64_t size) {
  const std::uint64_t digest = digest_mix(sum + (size + 1) * 0xd1342543de82ef95u);
  return digest == 0 ? 1 : digest;
}

}  // namespace kimesh
