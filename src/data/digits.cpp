#include <algorithm>
#include <cmath>

#include "kimesh/util/check.h"
#include "src/data/digits_data.h"
#include "src/data/load.h"
#include "src/data/stratify.h"

namespace kimesh {
namespace {

unsigned packed_digit(char c) {
  return static_cast<unsigned>(c - '(') - (c > '?' ? 1 : 0) - (c > '\\' ? 1 : 0);
}

Dataset empty_digits() {
  Dataset data;
  data.shape.channels = 1;
  data.shape.height = data.shape.width = 8;
  data.shape.classes = 10;
  data.scale = {1.0f / 8};  // 0 to 16 becomes -1 to 1, exactly
  data.offset = {-1.0f};
  return data;
}

void unpack(std::string_view packed, Dataset& data) {
  data.labels.push_back(static_cast<std::uint8_t>(packed[0] - '0'));
  const std::size_t begin = data.pixels.size();
  for (std::size_t i = 1; i < packed.size(); i += 2) {
    const unsigned group = packed_digit(packed[i]) * 71 + packed_digit(packed[i + 1]);
    for (const unsigned pixel : {group / 289, group / 17 % 17, group % 17})
      data.pixels.push_back(static_cast<std::uint8_t>(pixel));
  }
  data.pixels.resize(begin + kDigitsPixels);  // the last group's two zeros
}

Dataset all_digits() {
  KIMESH_CHECK(kPackedDigits.size() == kDigitsSamples * kDigitsPackedBytes, "the digits are whole");
  Dataset data = empty_digits();
  for (std::size_t i = 0; i < kDigitsSamples; ++i)
    unpack(kPackedDigits.substr(i * kDigitsPackedBytes, kDigitsPackedBytes), data);
  return data;
}

void append(const Dataset& from, std::size_t sample, Dataset& to) {
  const auto begin = from.pixels.begin() + static_cast<std::ptrdiff_t>(sample * kDigitsPixels);
  to.pixels.insert(to.pixels.end(), begin, begin + kDigitsPixels);
  to.labels.push_back(from.labels[sample]);
}

}  // namespace

Result<DataSets> load_digits(double test_share, std::uint64_t seed) {
  if (!(test_share > 0 && test_share < 1))
    return Error{ErrorCode::kUserInput, "data.test_share must lie between 0 and 1, both excluded"};
  const Dataset all = all_digits();
  std::vector<bool> is_test(all.samples());
  for (const auto& samples : shuffled_classes(all, seed, 0, Purpose::kTestSet)) {
    const double wanted = std::round(test_share * static_cast<double>(samples.size()));
    const auto count =
        std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, samples.size() - 1);
    for (std::size_t i = 0; i < count; ++i) is_test[samples[i]] = true;
  }
  DataSets sets{empty_digits(), empty_digits()};
  for (std::size_t i = 0; i < all.samples(); ++i)
    append(all, i, is_test[i] ? sets.test : sets.train);
  return sets;
}

}  // namespace kimesh
