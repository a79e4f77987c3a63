#include "listen_places.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <memory>

namespace kimesh {
namespace {

constexpr std::string_view kTcp = "tcp://";

// The host of an endpoint where it is a name, else nothing.
std::string name_in(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kTcp) || colon < kTcp.size()) return "";
  const std::string host = endpoint.substr(kTcp.size(), colon - kTcp.size());
  in_addr number{};
  const bool is_name = !host.empty() && host != "*" && host.front() != '[' &&
                       ::inet_pton(AF_INET, host.c_str(), &number) != 1;
  return is_name ? host : "";
}

// Whether a name is the same on every machine, which others do not dial.
bool names_loopback(const std::string& name) {
  return name == "localhost" || name == "ip6-localhost" || name == "ip6-loopback";
}
bool is_loopback(const std::string& number) {
  return number.starts_with("127.") || number == "[::1]";
}

std::vector<std::string> resolve(const std::string& name, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  std::vector<std::string> numbers;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      numbers.push_back(family == AF_INET6 ? fmt::format("[{}]", text.data()) : text.data());
  }
  return numbers;
}

}  // namespace

std::vector<std::string> resolve_name(const std::string& name) {
  auto numbers = resolve(name, AF_INET);
  return numbers.empty() ? resolve(name, AF_INET6) : numbers;
}

std::vector<std::string> listen_places(const std::string& endpoint, const Resolver& resolve) {
  const std::string name = name_in(endpoint);
  if (name.empty()) return {endpoint};
  std::vector<std::string> numbers = resolve(name);
  if (!numbers.empty() && !names_loopback(name) && std::ranges::all_of(numbers, is_loopback))
    numbers = {numbers.front() == "[::1]" ? "[::]" : "*"};
  const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
  std::vector<std::string> places;
  for (const std::string& number : numbers)
    places.push_back(fmt::format("{}{}:{}", kTcp, number, port));
  return places.empty() ? std::vector{endpoint} : places;
}

HostKind kind_of_host(const std::string& endpoint, const Resolver& resolve) {
  const std::string name = name_in(endpoint);
  if (name.empty()) return HostKind::kNumber;
  const std::vector<std::string> numbers = resolve(name);
  if (numbers.empty()) return HostKind::kUnknownName;
  return numbers.front().starts_with('[') ? HostKind::kIpv6Name : HostKind::kIpv4Name;
}

}  // namespace kimesh
