// kind: digits. The optical recognition of handwritten digits (UCI, CC BY 4.0), which is built in.
#include "digits_data.h"
#include "kimesh/config/keys.h"
#include "kimesh/util/check.h"
#include "limits.h"
#include "stored_samples.h"

namespace kimesh {
namespace {

constexpr std::int64_t kDigitsSide = 8;

unsigned packed_digit(char c) {
  return static_cast<unsigned>(c - '(') - (c > '?' ? 1 : 0) - (c > '\\' ? 1 : 0);
}

Dataset empty_digits() {
  Dataset data;
  data.shape.channels = 1;
  data.shape.height = data.shape.width = kDigitsSide;
  data.shape.classes = 10;
  data.scale = {1.0f / 8};  // 0 to 16 becomes -1 to 1, exactly
  data.offset = {-1.0f};
  return data;
}

void unpack(std::string_view packed, Dataset& data) {
  data.labels.push_back(static_cast<std::uint16_t>(packed[0] - '0'));
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

class Digits final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.number("test_share", test_share_, limits::kTestShares, limits::kTestShareHelp);
    keys.refuse({"path"}, "kind: digits, which are built in");
  }
  std::optional<std::int64_t> image_side() const override { return kDigitsSide; }
  Result<OpenedData> open() const override {
    return OpenedData{stored_in_memory(all_digits()), nullptr, test_share_};
  }

 private:
  double test_share_ = limits::kTestShareDefault;
};

}  // namespace

extern const Kind<DataKind> kDigits;
const Kind<DataKind> kDigits = {"digits", "1797 handwritten digits of 8 x 8 pixels, built in",
                                make_options<Digits, DataKind>};

}  // namespace kimesh
