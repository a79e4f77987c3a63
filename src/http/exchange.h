// One request as bytes becomes one answer as bytes. Only exchange.cpp sees cpp-httplib, which is
// used as the grammar of HTTP: it opens no socket and starts no thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kimesh/http/server.h"

namespace kimesh {

class HttpExchange {
 public:
  explicit HttpExchange(const HttpOptions& options);  // `options` outlives this
  ~HttpExchange();

  // The answer to a whole request; nothing: its route waits for news, which `may_wait` allows.
  [[nodiscard]] std::optional<std::string> answer(const std::string& request, bool may_wait);

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace kimesh
