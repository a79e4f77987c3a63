#include "kimesh/util/check.h"

#include <cstdio>
#include <cstdlib>

namespace kimesh {

void check_failed(const char* file, int line, const char* expression,
                  std::string_view explanation) {
  // Nothing is allocated here: a lack of memory may be what went wrong.
  std::fprintf(stderr, "%s:%d: kimesh has a bug: expected that %.*s (%s)\n", file, line,
               static_cast<int>(explanation.size()), explanation.data(), expression);
  std::fflush(stderr);
  std::abort();
}

}  // namespace kimesh
