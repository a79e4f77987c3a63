// The address HOST:PORT that a server listens at.
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

// Parses HOST:PORT; nothing: it is no such address. localhost becomes 127.0.0.1: no
// name is looked up.
[[nodiscard]] std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace kimesh
