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

bool is_name(const std::string& host) {
  in_addr number{};
  return !host.empty() && host != "*" && host.front() != '[' &&
         ::inet_pton(AF_INET, host.c_str(), &number) != 1;
}

}  // namespace

std::vector<std::string> resolve_name(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  std::vector<std::string> numbers;
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr)
      numbers.emplace_back(text.data());
  }
  return numbers;
}

std::vector<std::string> listen_places(const std::string& endpoint, const Resolver& resolve) {
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kTcp) || colon < kTcp.size()) return {endpoint};
  const std::string host = endpoint.substr(kTcp.size(), colon - kTcp.size());
  const std::string port = endpoint.substr(colon + 1);
  if (!is_name(host)) return {endpoint};
  std::vector<std::string> numbers = resolve(host);
  const auto is_loopback = [](const std::string& number) { return number.starts_with("127."); };
  if (!numbers.empty() && host != "localhost" && std::ranges::all_of(numbers, is_loopback))
    numbers = {"*"};
  std::vector<std::string> places;
  for (const std::string& number : numbers)
    places.push_back(fmt::format("{}{}:{}", kTcp, number, port));
  return places.empty() ? std::vector{endpoint} : places;
}

}  // namespace kimesh
