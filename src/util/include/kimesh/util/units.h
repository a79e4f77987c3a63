// Numbers with units as people write and read them: "2Mbit", "500kbit", "100ms", "64KiB". One space
// may stand before the unit, so that parse_* reads what format_* writes. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// "500kbit" -> 500'000. Units: bit, kbit, Mbit, Gbit (per second, decimal; an optional "/s").
// Errors: UserInput, a sentence that shows what to write. Zero and negative rates are errors.
[[nodiscard]] Result<double> parse_rate_bits_per_s(std::string_view text);
// "100ms" -> 100 ms. Units: us, ms, s, min, h. Negative is an error, zero is not.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
// "64KiB" -> 65'536. Units: B, kB, MB, GB (decimal), KiB, MiB, GiB.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
// What a size above 0 whose unit has the wrong case was meant to be: "16kB" for "16KB". Empty: the
// text is no such size.
[[nodiscard]] std::string bytes_meant(std::string_view text);

// Three significant digits and a unit: "1.25 Mbit/s", "12.3 ms", "4.10 kB".
[[nodiscard]] std::string format_rate(double bits_per_s);
[[nodiscard]] std::string format_duration(Duration duration);
[[nodiscard]] std::string format_bytes(double bytes);

}  // namespace kimesh
