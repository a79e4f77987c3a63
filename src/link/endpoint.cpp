#include "endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace kimesh {
namespace {

constexpr std::string_view kTcp = "tcp://";

// Whether a name is the same on every machine, which others do not dial.
bool names_loopback(const std::string& name) {
  return name == "localhost" || name == "ip6-localhost" || name == "ip6-loopback";
}
bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "[::1]";
}

}  // namespace

std::string name_in(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kTcp) || colon < kTcp.size()) return "";
  const std::string host = endpoint.substr(kTcp.size(), colon - kTcp.size());
  in_addr address{};
  const bool is_name = !host.empty() && host != "*" && host.find(':') == std::string::npos &&
                       ::inet_pton(AF_INET, host.c_str(), &address) != 1;
  return is_name ? host : "";
}

std::string with_host(const std::string& endpoint, const std::string& host) {
  return fmt::format("{}{}{}", kTcp, host, endpoint.substr(endpoint.rfind(':')));
}

std::vector<std::string> listen_places(const std::string& endpoint, const Resolver& resolve) {
  const std::string name = name_in(endpoint);
  if (name.empty()) return {endpoint};
  std::vector<std::string> addresses = resolve(name);
  if (!addresses.empty() && !names_loopback(name) && std::ranges::all_of(addresses, is_loopback))
    addresses = {addresses.front() == "[::1]" ? "[::]" : "*"};
  std::vector<std::string> places;
  for (const std::string& address : addresses) places.push_back(with_host(endpoint, address));
  return places.empty() ? std::vector{endpoint} : places;
}

}  // namespace kimesh
