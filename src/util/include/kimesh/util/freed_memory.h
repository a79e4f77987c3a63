// What the process does with memory that it frees.
#pragma once

namespace kimesh {

// From now on memory that is freed stays with the process, for all that it allocates; blocks over
// 32 MiB alone go back. What one round frees (messages, a network's activations) the next one takes
// again: glibc gives most of it back to the system, which then clears the same pages in every
// round, for a quarter of the round's time. Does nothing with other C libraries. Thread: any.
void keep_freed_memory();

}  // namespace kimesh
