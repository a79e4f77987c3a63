// A message's setting as the decision log writes it. Private to the layer.
#pragma once

#include <span>

#include "json.h"
#include "kimesh/codec/setting.h"
#include "kimesh/topology/plan.h"

namespace kimesh {

// Leaves out the keys that have their defaults.
void put_setting(Json& json, const Setting& setting);

// Reads the setting of a message for these layers. Complains about settings that no policy chooses.
[[nodiscard]] Setting read_setting(FieldReader& fields, std::span<const LayerSlice> layers);

}  // namespace kimesh
