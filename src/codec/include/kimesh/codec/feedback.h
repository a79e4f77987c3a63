// Error feedback: what a reduce channel does with the part that compression dropped.
#pragma once

#include <cstdint>

namespace kimesh {

enum class Feedback : std::uint8_t {
  kEf21,  // both ends hold an estimate; messages carry differences from it (Richtárik et al., 2021)
  kEf14,  // the sender adds the dropped residual to its next message (Seide et al., 2014)
  kNone,  // the dropped part is lost
};

}  // namespace kimesh
