#include "kimesh/topology/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "limits.h"

namespace kimesh {
namespace {

constexpr std::string_view kScheme = "tcp://";

std::optional<int> parse_int(std::string_view text, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc{} && end == text.data() + text.size();
  if (!all || value < 0 || value > max) return std::nullopt;
  return value;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > limits::kHostMax) return false;
  if (host == "*") return true;
  if (host.front() == '[') {
    if (host.size() < 4 || host.back() != ']') return false;
    return std::all_of(host.begin() + 1, host.end() - 1, [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
             c == '.';
    });
  }
  return std::all_of(host.begin(), host.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '.' || c == '-' || c == '_';
  });
}

// Four numbers of 0..255, the first of which is 127. A name such as 127.example.com is none.
bool is_loopback_ipv4(std::string_view host) {
  int parts = 0;
  for (std::size_t begin = 0; begin <= host.size(); ++parts) {
    const std::size_t dot = std::min(host.find('.', begin), host.size());
    const auto number = parse_int(host.substr(begin, dot - begin), 255);
    if (!number || (parts == 0 && *number != 127)) return false;
    begin = dot + 1;
  }
  return parts == 4;
}

}  // namespace

bool Address::is_loopback() const {
  return host == "localhost" || host == "[::1]" || is_loopback_ipv4(host);
}

bool Address::is_wildcard() const {
  return host == "*" || host == "0.0.0.0" || host == "[::]";
}

std::string Address::place() const {
  return fmt::format("{}:{}", host == "localhost" ? "127.0.0.1" : host, port);
}

std::optional<Address> parse_address(std::string_view text) {
  if (!text.starts_with(kScheme)) return std::nullopt;
  text.remove_prefix(kScheme.size());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_host(text.substr(0, colon))) return std::nullopt;
  const std::string_view port_text = text.substr(colon + 1);
  const auto port = parse_int(port_text, 65535);
  if (!port || *port == 0 || !is_digit(port_text.front())) return std::nullopt;
  return Address{std::string(text.substr(0, colon)), *port};
}

}  // namespace kimesh
