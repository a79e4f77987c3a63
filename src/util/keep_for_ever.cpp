#include "kimesh/util/keep_for_ever.h"

#include <mutex>
#include <utility>
#include <vector>

namespace kimesh {

void keep_for_ever(std::shared_ptr<void> object) {
  // Not even the end of the process destroys them.
  static auto* const mutex = new std::mutex();
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  const std::scoped_lock lock(*mutex);
  kept->push_back(std::move(object));
}

}  // namespace kimesh
