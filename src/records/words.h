// The words of the files, read back. Private to the layer.
#pragma once

#include <optional>
#include <string>

#include "kimesh/round/action.h"

namespace kimesh {

[[nodiscard]] std::optional<Outcome> outcome_of(const std::string& name);
[[nodiscard]] std::optional<StopReason> reason_of(const std::string& name);

}  // namespace kimesh
