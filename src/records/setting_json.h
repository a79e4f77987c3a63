// The setting of a message in the decision log. Private to the layer.
#pragma once

#include <span>

#include "json.h"
#include "kimesh/codec/setting.h"
#include "kimesh/topology/plan.h"

namespace kimesh {

// Writes the keys of a setting that do not have their defaults.
void put_setting(Json& json, const Setting& setting);

// Reads the setting of a message for these layers. Complains about settings that no policy chooses.
[[nodiscard]] Setting read_setting(FieldReader& fields, std::span<const LayerSlice> layers);

}  // namespace kimesh
