#include "kimesh/http/ask.h"

#include <httplib.h>

namespace kimesh {

std::optional<std::string> http_ask(const HttpQuestion& question) {
  httplib::Client client(question.host, question.port);
  client.set_connection_timeout(kHttpAskTime);
  client.set_read_timeout(kHttpAskTime);
  client.set_write_timeout(kHttpAskTime);
  httplib::Headers headers;
  if (!question.token.empty()) headers.emplace("Authorization", "Bearer " + question.token);
  std::string body;
  const auto end = std::chrono::steady_clock::now() + kHttpAskTimeMax;
  const auto take = [&](const char* bytes, std::size_t size) {
    if (body.size() + size > question.bytes_max) return false;
    if (std::chrono::steady_clock::now() > end) return false;
    body.append(bytes, size);
    return true;
  };
  const auto answer = client.Get(question.path, headers, take);
  constexpr int kOk = 200;
  if (!answer || answer->status != kOk) return std::nullopt;
  return body;
}

}  // namespace kimesh
