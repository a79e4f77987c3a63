#include "exchange.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>

#include "kimesh/http/token.h"

namespace kimesh {
namespace {

// The page holds its own script and style, and asks nobody but this server.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'";
constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kNoSuchMethod = 405,
              kFailed = 500;

class MemoryStream : public httplib::Stream {
 public:
  explicit MemoryStream(const std::string& in) : in_(in) {}
  [[nodiscard]] std::string take() { return std::move(out_); }

  bool is_readable() const override { return read_ < in_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, std::size_t size) override {
    const std::size_t count = std::min(size, in_.size() - read_);
    std::memcpy(bytes, in_.data() + read_, count);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, std::size_t size) override {
    out_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return -1; }

 private:
  const std::string& in_;
  std::size_t read_ = 0;
  std::string out_;
};

// A browser that was led here by a name of somebody else's says that name, and always says one.
bool names_this_machine(const std::string& host) {
  if (host.empty()) return true;
  const bool has_port = !host.ends_with(']') && host.find(':') != std::string::npos;
  return parse_listen_address(has_port ? host : host + ":80").has_value();
}

HttpAnswer refuse(int status, std::string why) {
  return {status, "text/plain; charset=utf-8", std::move(why) + "\n"};
}

}  // namespace

struct HttpExchange::Parser : httplib::Server {
  explicit Parser(const HttpOptions& from) : options(from) {
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      const auto made = decide(request);
      response.status = made.status;
      response.set_content(made.body, made.type);
      return HandlerResponse::Handled;
    });
  }

  HttpAnswer decide(const httplib::Request& request) {
    if (request.method != "GET" && request.method != "HEAD")
      return refuse(kNoSuchMethod, "only GET and HEAD are answered");
    const auto route = options.routes.find(request.path);
    const bool is_open = route != options.routes.end() && route->second.is_open;
    const bool is_private = options.token.empty() && options.address.is_loopback();
    if (is_private && !names_this_machine(request.get_header_value("Host")))
      return refuse(kForbidden, "ask by the address, or as localhost");
    if (!is_open && !options.token.empty() && !is_token(options.token, bearer(request)))
      return refuse(kUnauthorized, "a token is needed: Authorization: Bearer TOKEN");
    if (route == options.routes.end()) return refuse(kNotFound, "there is no such page");
    HttpRequest asked{request.path, {}};
    for (const auto& [name, value] : request.params) asked.params.emplace(name, value);
    HttpAnswer made;
    Thrown thrown;
    thrown.guard("making this page", [&] {
      waits = may_wait && route->second.waits && route->second.waits(asked);
      if (!waits) made = route->second.answer(asked);
    });
    return thrown.is_empty() ? made : refuse(kFailed, *thrown.text());
  }

  static std::string bearer(const httplib::Request& request) {
    const std::string text = request.get_header_value("Authorization"), scheme = "Bearer ";
    return text.starts_with(scheme) ? text.substr(scheme.size()) : "";
  }

  // cpp-httplib 0.11 (Debian 12) takes the stream alone, later versions its ends as well.
  template <typename Server>
  static bool process(Server& server, httplib::Stream& stream,
                      const std::function<void(httplib::Request&)>& setup) {
    bool closed = false;
    if constexpr (requires { server.process_request(stream, true, closed, setup); })
      return server.process_request(stream, true, closed, setup);
    else
      return server.process_request(stream, "", 0, "", 0, true, closed, setup);
  }

  const HttpOptions& options;
  bool may_wait = false, waits = false;
};

HttpExchange::HttpExchange(const HttpOptions& options)
    : parser_(std::make_unique<Parser>(options)) {
  parser_->set_default_headers({{"Cache-Control", "no-store"},
                                {"Content-Security-Policy", kContentPolicy},
                                {"Referrer-Policy", "no-referrer"},
                                {"X-Content-Type-Options", "nosniff"}});
}

HttpExchange::~HttpExchange() = default;

std::optional<std::string> HttpExchange::answer(const std::string& request, bool may_wait) {
  parser_->may_wait = may_wait;
  parser_->waits = false;
  MemoryStream stream(request);
  // Compressing costs more than loopback gains; a range of an answer that changes means nothing.
  const auto setup = [](httplib::Request& asked) {
    asked.headers.erase("Accept-Encoding");
    asked.headers.erase("Range");
    asked.ranges.clear();
  };
  Parser::process(*parser_, stream, setup);
  if (parser_->waits) return std::nullopt;
  return stream.take();
}

}  // namespace kimesh
