// A compressor's setting as the decision log writes it. Private to the layer.
#pragma once

#include <span>

#include "kimesh/compress/setting.h"
#include "kimesh/topology/plan.h"
#include "src/records/json.h"

namespace kimesh {

// Fields that are as they are by default are left out.
void put_setting(Json& json, const Setting& setting);

// Of a message with `elements` elements in `layers`. Complains about what no policy decides.
[[nodiscard]] Setting read_setting(FieldReader& fields, std::size_t elements,
                                   std::span<const LayerSlice> layers);

}  // namespace kimesh
