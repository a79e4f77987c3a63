// Reads a map of a YAML file into the fields that a declaration of keys binds, and complains about
// everything that is wrong: unknown keys, values out of their ranges, keys that mean nothing with
// the chosen kind. A field whose value is wrong keeps its default, so that one pass finds every
// problem.
#pragma once

#include <functional>
#include <string>

#include "kimesh/config/keys.h"
#include "kimesh/config/map_reader.h"
#include "kimesh/config/places.h"

namespace kimesh {

// Reads the map `value`, whose declaration is `describe`. `where` names the map in sentences
// ("optimizer"; empty: the file as a whole). The lines of all keys that are there go to `places`.
void read_keys(const YamlValue& value, const std::string& where, Complaints& complaints,
               Places& places, const std::function<void(Keys&)>& describe);

}  // namespace kimesh
