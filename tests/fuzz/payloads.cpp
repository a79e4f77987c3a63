#include <algorithm>
#include <cmath>
#include <cstring>

#include "kimesh/compress/compressor.h"
#include "kimesh/kernels/simd.h"
#include "kimesh/util/check.h"
#include "tests/compress/inputs.h"
#include "tests/fuzz/target.h"

namespace kimesh::fuzz {
namespace {

constexpr std::size_t kSizeBytes = 2;
constexpr std::size_t kElementsMax = 1 << 14;  // some blocks of every kind, and still fast

std::size_t size_of(Input input) {
  return (std::to_integer<std::size_t>(input[0]) | std::to_integer<std::size_t>(input[1]) << 8) %
         kElementsMax;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// What the simplest instruction set makes of it: the other end of a channel may have no other.
void check_scalar(Form form, Input payload, std::span<const float> expected) {
  std::vector<float> scalar(expected.size(), 1.0f);
  KIMESH_CHECK(kernels::force_simd("scalar").ok(), "scalar is always there");
  const Status status = apply(form, payload, scalar);
  KIMESH_CHECK(kernels::force_simd("").ok(), "the best is always there");
  KIMESH_CHECK(status.ok(), "every instruction set accepts what one accepts");
  KIMESH_CHECK(same_bits(scalar, expected), "every instruction set decodes to the same bits");
}

bool accepts(Form form, Input input) {
  if (input.size() < kSizeBytes) return false;
  const std::size_t size = size_of(input);
  const Input payload = input.subspan(kSizeBytes);
  static const std::vector<float> before(kElementsMax, 1.0f);
  std::vector<float> after(size, 1.0f);
  const Status status = apply(form, payload, after);
  KIMESH_CHECK(validate(form, payload, size).ok() == status.ok(), "validate says what apply says");
  if (!status.ok()) {
    KIMESH_CHECK(status.error().code == ErrorCode::kMalformed, "a payload is malformed or correct");
    KIMESH_CHECK(same_bits(after, std::span(before).first(size)), "no trace of what is refused");
    return false;
  }
  KIMESH_CHECK(std::ranges::all_of(after, [](float x) { return std::isfinite(x); }),
               "what is accepted adds finite numbers");
  check_scalar(form, payload, after);
  return true;
}

// A setting's messages for vectors of some sizes, where they take this form.
void add_seeds(Form form, const Named& unsized, std::vector<Bytes>& seeds) {
  CompressScratch scratch;
  for (const std::size_t size : {1u, 7u, 90u, 300u, 5000u}) {
    Random random = stream(size);
    const auto kind = static_cast<VectorKind>(random.below(kKinds));
    kimesh::Input made_from = input_of(random, kind, size);
    const Setting setting = sized(unsized, random, made_from);
    const auto made =
        advance(made_from.target, made_from.estimate, made_from.pieces, setting, scratch);
    if (!made.ok() || made->form != form) continue;
    Bytes seed = {std::byte(size & 0xff), std::byte(size >> 8)};
    seed.insert(seed.end(), made->bytes.begin(), made->bytes.end());
    seeds.push_back(std::move(seed));
  }
}

std::vector<Bytes> seeds(Form form) {
  std::vector<Bytes> all;
  for (const Named& named : settings_that_write(form)) add_seeds(form, named, all);
  return all;
}

}  // namespace

std::vector<Target> payload_targets() {
  std::vector<Target> targets;
  for (const Form form : all_forms())
    targets.push_back({name_of(form), [form](Input input) { return accepts(form, input); },
                       [form] { return seeds(form); }});
  return targets;
}

}  // namespace kimesh::fuzz
