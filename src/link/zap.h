// The answers to ZeroMQ's question who may connect to this node (ZAP, rfc.zeromq.org/spec/27).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zmq_socket.h"

namespace kimesh {

inline constexpr const char* kZapDomain = "kimesh";

// The nodes that may connect: names by their keys, 32 bytes each.
using ZapAllowed = std::map<std::string, std::string>;
// Requires: keys that pass is_curve_key.
[[nodiscard]] ZapAllowed zap_allowed(const std::map<std::string, std::string>& keys_by_name);

struct ZapReply {
  std::vector<std::string> frames;  // version, request, status code and text, user id, metadata
  std::string stranger;             // the address that was refused for its key; empty: none was
};
// The reply to the frames of a request. CURVE with a key of `allowed` is let in, and its user id is
// the node's name; all else is refused. Nothing: the frames hold no request that could be answered.
// Pure.
[[nodiscard]] std::optional<ZapReply> zap_reply(std::span<const std::string> request,
                                                const ZapAllowed& allowed);

// ZeroMQ asks over the endpoint that this binds. Without it ZeroMQ lets every key in, and nothing
// vouches for a user id: it is made before the socket that it guards, and outlives it. Frames
// without the right user id count for nothing. Thread: the network's. The context outlives it.
class ZapAnswerer {
 public:
  ZapAnswerer(ZmqContext& context, const std::map<std::string, std::string>& keys_by_name);

  // Answers the requests that wait. Returns the address of a stranger among them; empty: none was.
  [[nodiscard]] std::string answer();
  [[nodiscard]] void* socket() const { return socket_.get(); }

 private:
  [[nodiscard]] std::optional<std::vector<std::string>> receive();
  void send(std::span<const std::string> frames);

  struct Close {
    void operator()(void* socket) const { zmq_close(socket); }
  };
  ZapAllowed allowed_;
  std::unique_ptr<void, Close> socket_;
};

}  // namespace kimesh
