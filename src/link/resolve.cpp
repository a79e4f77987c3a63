#include "kimesh/link/resolve.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

namespace kimesh {
namespace {

std::vector<std::string> addresses_of(const std::string& name, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
      continue;
    const std::string address = family == AF_INET6 ? fmt::format("[{}]", text.data()) : text.data();
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

std::vector<std::string> resolve_name(const std::string& name) {
  auto addresses = addresses_of(name, AF_INET);
  return addresses.empty() ? addresses_of(name, AF_INET6) : addresses;
}

}  // namespace kimesh
