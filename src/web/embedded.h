// The script of the page, as the build has put it into the program (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace kimesh {

extern const std::string_view kLiveJs, kLiveCss;

}  // namespace kimesh
