// The address HOST:PORT of metrics.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kimesh {

struct ListenAddress {
  std::string host;  // an IPv4 address, or an IPv6 address in [brackets]
  int port = 0;      // 0..65535; 0: chosen by the kernel
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] std::string text() const { return host + ":" + std::to_string(port); }
};

// Parses HOST:PORT; nothing: it is no such address. localhost becomes 127.0.0.1, since the library
// listens on numbers only.
[[nodiscard]] std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace kimesh
