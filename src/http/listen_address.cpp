#include "kimesh/http/listen_address.h"

#include <arpa/inet.h>

#include <charconv>

namespace kimesh {
namespace {

constexpr int kPortMax = 65535;

bool is_ip_address(std::string host) {
  in6_addr there{};
  if (!host.starts_with('[')) return ::inet_pton(AF_INET, host.c_str(), &there) == 1;
  if (!host.ends_with(']')) return false;
  host = host.substr(1, host.size() - 2);
  return ::inet_pton(AF_INET6, host.c_str(), &there) == 1;
}

}  // namespace

bool ListenAddress::is_loopback() const {
  return host.starts_with("127.") || host == "[::1]";
}

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  ListenAddress address{std::string(text.substr(0, colon)), -1};
  if (address.host == "localhost") address.host = "127.0.0.1";
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool whole = error == std::errc{} && end == port.data() + port.size();
  if (!whole || address.port < 0 || address.port > kPortMax || !is_ip_address(address.host))
    return std::nullopt;
  return address;
}

}  // namespace kimesh
