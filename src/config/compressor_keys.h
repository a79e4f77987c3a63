// The keys of the section `compression` that say what messages are made with.
#pragma once

#include <string>

#include "kimesh/config/compression_config.h"
#include "kimesh/config/map_reader.h"

namespace kimesh {

void read_compressor(MapReader& reader, CompressorConfig& compressor);

// Complains where a key does not go with the compressor, or the compressor not with the policy.
void check_compressor(MapReader& reader, CompressionConfig& compression);

[[nodiscard]] std::string canonical_compressor(const CompressorConfig& compressor);

}  // namespace kimesh
