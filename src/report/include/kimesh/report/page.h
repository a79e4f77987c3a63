// The files of page/, as the build has put them into the program (cmake/embed.cmake). Other pages
// use the style and the drawing functions, too.
#pragma once

#include <string_view>

namespace kimesh {

extern const std::string_view kPageCss, kChartsJs, kReportJs;

}  // namespace kimesh
