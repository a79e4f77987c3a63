// Assertions about ourselves, on in release builds too. A failed one is a bug in kimesh.
#pragma once

#include <string_view>

namespace kimesh {

// Prints file, line, expression and explanation on stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               std::string_view explanation);

}  // namespace kimesh

// `explanation` says what was expected; it is evaluated only when the check fails.
#define KIMESH_CHECK(condition, explanation)                                 \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::kimesh::check_failed(__FILE__, __LINE__, #condition, (explanation)); \
  } while (false)
