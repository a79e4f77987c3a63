// tcp://HOST:PORT, taken apart and judged.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kimesh {

struct Address {
  std::string host;  // an IPv4 address, a name, an IPv6 address in [brackets], or * for all
  int port = 0;      // 1..65535

  // Reached from this machine only. A name other than localhost is not: nobody can tell here.
  [[nodiscard]] bool is_loopback() const;
  // Stands for all of a machine's addresses: can be bound, but nobody can dial it.
  [[nodiscard]] bool is_wildcard() const;
  // Equal for two spellings of one place, such as localhost and 127.0.0.1.
  [[nodiscard]] std::string place() const;
};

[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

}  // namespace kimesh
