// The parts of an address tcp://HOST:PORT.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kimesh {

struct Address {
  std::string host;  // an IPv4 address, a name, an IPv6 address in [brackets], or * for all
  int port = 0;      // 1..65535

  // Whether only this machine reaches it. A host name other than localhost does not count, since it
  // may be any machine's.
  [[nodiscard]] bool is_loopback() const;
  // Whether it stands for all addresses of a machine, which can be bound but not dialled.
  [[nodiscard]] bool is_wildcard() const;
  // A text that is equal for two spellings of one place, such as localhost and 127.0.0.1.
  [[nodiscard]] std::string place() const;
};

[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

}  // namespace kimesh
