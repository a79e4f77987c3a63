#include "kimesh/events/message.h"

namespace kimesh {

std::size_t controls_to_send(const Control& control) {
  std::size_t count = control.size();
  while (count > 0 && control[count - 1] == 0) --count;
  return count;
}

}  // namespace kimesh
