#include "curves.h"

#include <algorithm>
#include <limits>

namespace kimesh {

Bins::Bins(Round first, Round end, std::size_t count, Round unit) : first_(first), end_(end) {
  const Round rounds = end - first;
  const auto wanted = static_cast<Round>(std::max<std::size_t>(1, count));
  width_ = std::max<Round>(1, (rounds + wanted - 1) / wanted);
  width_ = (width_ + unit - 1) / unit * unit;
  size_ = (rounds + width_ - 1) / width_;
}

std::vector<double> Means::values() const {
  std::vector<double> values(sums_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (counts_[i] > 0) values[i] = sums_[i] / static_cast<double>(counts_[i]);
  return values;
}

bool shows_times(const Bins& bins, const RoundRecord& round) {
  return bins.holds(round.round) && (!round.closing || bins.rounds() == 1);
}

}  // namespace kimesh
