// The report as one page: page/report.js draws what report_json() says.
#include <fmt/format.h>

#include "kimesh/report/page.h"
#include "kimesh/report/report.h"

namespace kimesh {
namespace {

// JSON may stand in a script element once nothing in it can end the element.
std::string in_script(std::string json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

}  // namespace

std::string report_html(std::span<const RunReport> reports) {
  std::string title;
  for (const RunReport& report : reports)
    title += (title.empty() ? "" : ", ") + report.history.name;
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  std::string plain;
  for (const char c : title) plain += c == '<' || c == '&' ? ' ' : c;
  html += fmt::format("<title>kimesh: {}</title>\n<style>\n{}</style>\n", plain, kPageCss);
  html += "<div id=\"page\"></div>\n<div id=\"tip\"></div>\n";
  html += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                      in_script(report_json(reports)));
  html +=
      fmt::format("<script>\n{}</script>\n<script>\n{}</script>\n</html>\n", kChartsJs, kReportJs);
  return html;
}

}  // namespace kimesh
