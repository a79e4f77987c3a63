// For what a thread that hangs still works on: nobody may take it away from under it.
#pragma once

#include <memory>

namespace kimesh {

// Keeps the object as long as the process lives, and never destroys it. Thread: any.
void keep_for_ever(std::shared_ptr<void> object);

}  // namespace kimesh
