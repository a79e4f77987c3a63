#include "version.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "kimesh/compress/codecs.h"
#include "kimesh/mesh/mesh.h"

namespace kimesh {

std::string_view version() {
  return KIMESH_VERSION;  // of CMakeLists.txt
}

std::string version_in_hello() {
  std::string forms = user_forms();  // a line each
  if (forms.empty()) return KIMESH_VERSION;
  forms.pop_back();
  for (std::size_t at = 0; (at = forms.find('\n', at)) != std::string::npos;)
    forms.replace(at, 1, ", ");
  return std::string(KIMESH_VERSION) + " with " + forms;
}

std::string build_text() {
#ifdef __OPTIMIZE__
  return "g++ " __VERSION__ ", optimised";
#else
  return "g++ " __VERSION__ ", not optimised";
#endif
}

std::string date_and_time() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace kimesh
