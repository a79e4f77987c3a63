// What kimad and auto share.
#pragma once

#include <memory>

#include "kimesh/policy/policy.h"

namespace kimesh {

// Gives every message what its link carries within MessageContext::round_time.
[[nodiscard]] std::unique_ptr<Policy> make_kimad(CodecPtr codec);

}  // namespace kimesh
