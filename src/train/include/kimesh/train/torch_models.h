// The models that LibTorch computes. This header does not need LibTorch.
#pragma once

namespace kimesh {

// Lets configs name them: `model: {kind: mlp}`. Call before the first file is read; once more does
// nothing. Thread: as KindTable::add.
void add_torch_models();

}  // namespace kimesh
