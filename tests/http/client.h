// A raw HTTP client of tests.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace kimesh::test {

class RawClient {
 public:
  RawClient(const std::string& host, int port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, host.c_str(), &there.sin_addr);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void send(const std::string& text) const {
    static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  // All that comes until the server closes; empty: nothing came.
  [[nodiscard]] std::string receive() const {
    std::string answer;
    char bytes[4096];
    for (ssize_t size = 0; (size = ::recv(socket_, bytes, sizeof bytes, 0)) > 0;)
      answer.append(bytes, static_cast<std::size_t>(size));
    return answer;
  }

 private:
  int socket_;
  bool connected_ = false;
};

// The answer to GET, whole; empty: nobody listens there. `headers` end with "\r\n" each.
inline std::string http_get(const std::string& host, int port, const std::string& path,
                            const std::string& headers = "") {
  const RawClient client(host, port);
  if (!client.connected()) return "";
  client.send("GET " + path + " HTTP/1.0\r\n" + headers + "\r\n");
  return client.receive();
}

// What stands behind the headers.
inline std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

}  // namespace kimesh::test
