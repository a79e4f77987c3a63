#include "kimesh/web/page.h"

#include <charconv>
#include <utility>

#include "embedded.h"
#include "kimesh/http/token.h"
#include "kimesh/report/page.h"
#include "other_pages.h"

namespace kimesh {
namespace {

Error wrong(std::string sentence) {
  return {ErrorCode::kUserInput, std::move(sentence)};
}

std::optional<std::uint32_t> index_of(const std::string& text) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return index;
}

// What the server's thread has.
struct Watched {
  std::unique_ptr<RunWatch> run;
  std::unique_ptr<OtherPages> others;  // null: there are none
};

HttpAnswer state_of(Watched& watched, const HttpRequest& request) {
  RunWatch& run = *watched.run;
  run.read();
  if (watched.others) {
    for (const OtherPage& said : watched.others->take()) run.hear(said.page, said.digest);
    watched.others->ask();
  }
  const StateRequest wanted{request.param("since"), index_of(request.param("node")),
                            index_of(request.param("link"))};
  return {200, "application/json", run.state(wanted)};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> listen_for_page(const std::string& address,
                                                    const std::string& token_file) {
  const auto place = parse_listen_address(address);
  if (!place)
    return wrong("the page cannot be served at '" + address +
                 "', which is no address. Write HOST:PORT with an IP address or localhost, such as "
                 "127.0.0.1:9200.");
  if (!place->is_loopback() && token_file.empty())
    return wrong("the page at " + address +
                 " could be read by everybody who reaches that address. Name a file with "
                 "--web-token whose token readers must know, made with (umask 077; openssl rand "
                 "-hex 24 > FILE), or listen at 127.0.0.1.");
  HttpOptions options{*place};
  if (!token_file.empty()) {
    auto token = read_token(token_file);
    if (!token) return token.error();
    options.token = std::move(*token);
  }
  auto server = HttpServer::listen(std::move(options));
  if (server) return server;
  return wrong("the page cannot be served at " + server.error().message +
               ". Choose another port or address.");
}

std::string page_html() {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>kimesh</title>\n<link rel=\"icon\" href=\"data:,\">\n";
  html.append("<style>\n").append(kPageCss).append(kLiveCss).append("</style>\n");
  html.append(
      "<div id=\"page\"><p class=\"faint\">reading the run</p></div><div id=\"tip\"></div>\n");
  html.append("<script>\n").append(kChartsJs).append("</script>\n");
  html.append("<script>\n").append(kLiveJs).append("</script>\n</html>\n");
  return html;
}

void add_page(HttpServer& server, std::unique_ptr<RunWatch> run, std::vector<HttpQuestion> others) {
  // Functions that a server keeps can be copied; what they share cannot.
  const auto watched = std::make_shared<Watched>();
  watched->run = std::move(run);
  if (!others.empty()) watched->others = std::make_unique<OtherPages>(std::move(others));
  const auto page = [](const HttpRequest&) {
    return HttpAnswer{200, "text/html; charset=utf-8", page_html()};
  };
  const auto state = [watched](const HttpRequest& request) { return state_of(*watched, request); };
  const auto waits = [](const HttpRequest& request) { return request.param("wait") == "1"; };
  const auto digest = [watched](const HttpRequest&) {
    watched->run->read();
    return HttpAnswer{200, "application/json", watched->run->digest()};
  };
  server.add("/", {page, true, nullptr});
  server.add("/state.json", {state, false, waits});
  server.add("/digest.json", {digest, false, nullptr});
}

}  // namespace kimesh
