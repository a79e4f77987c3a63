// What a reduce channel keeps of what compression dropped.
#pragma once

#include <cstdint>

namespace kimesh {

enum class Feedback : std::uint8_t {
  kEf21,  // both ends hold an estimate, which every message moves
  kEf14,  // the sender holds the residual and adds it to what it wants next (Seide et al., 2014)
  kNone,  // nothing: what is dropped is lost
};

}  // namespace kimesh
