#include "zap.h"

#include <array>
#include <cstdint>
#include <utility>

#include "kimesh/link/curve.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::size_t kKeyBytes = kCurveKeyChars / 5 * 4;
constexpr std::size_t kFramesMax = 16;  // of a request; CURVE's has 7 behind the envelope

// The places of a request's frames.
enum : std::size_t { kVersion, kRequest, kDomain, kAddress, kIdentity, kMechanism, kKey, kFrames };

}  // namespace

ZapAllowed zap_allowed(const std::map<std::string, std::string>& keys_by_name) {
  ZapAllowed allowed;
  for (const auto& [name, key] : keys_by_name) {
    std::array<std::uint8_t, kKeyBytes> bytes{};
    KIMESH_CHECK(is_curve_key(key) && zmq_z85_decode(bytes.data(), key.c_str()),
                 "the allow-list holds keys");
    allowed[std::string(bytes.begin(), bytes.end())] = name;
  }
  return allowed;
}

std::optional<ZapReply> zap_reply(std::span<const std::string> request, const ZapAllowed& allowed) {
  if (request.size() <= kRequest) return std::nullopt;
  const auto reply = [&](const char* code, const char* text, const std::string& user = {}) {
    return ZapReply{{"1.0", request[kRequest], code, text, user, ""}, ""};
  };
  if (request[kVersion] != "1.0") return reply("500", "another version of ZAP");
  if (request.size() != kFrames || request[kMechanism] != "CURVE" || request[kDomain] != kZapDomain)
    return reply("400", "only keys of this mesh are let in");
  const auto node = allowed.find(request[kKey]);
  if (node != allowed.end()) return reply("200", "OK", node->second);
  ZapReply refused = reply("400", "the key is not in the allow-list");
  refused.stranger = request[kAddress].empty() ? "an unknown address" : request[kAddress];
  return refused;
}

ZapAnswerer::ZapAnswerer(ZmqContext& context,
                         const std::map<std::string, std::string>& keys_by_name)
    : allowed_(zap_allowed(keys_by_name)), socket_(zmq_socket(context.raw(), ZMQ_ROUTER)) {
  const int none = 0;
  KIMESH_CHECK(socket_ && zmq_setsockopt(socket(), ZMQ_LINGER, &none, sizeof none) == 0 &&
                   zmq_bind(socket(), "inproc://zeromq.zap.01") == 0,
               "the context's one answerer of ZAP");
}

// The frames of a request behind its envelope: the asking session, and an empty frame.
std::optional<std::vector<std::string>> ZapAnswerer::receive() {
  std::vector<std::string> frames;
  for (bool more = true; more;) {
    ZmqPart part;
    if (zmq_msg_recv(part.raw(), socket(), ZMQ_DONTWAIT) < 0) break;
    more = part.more();
    const auto bytes = part.bytes();
    if (frames.size() <= kFramesMax)  // one more than any request that is answered
      frames.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (frames.empty()) return std::nullopt;
  return frames;
}

// To a session that has gone nothing is sent.
void ZapAnswerer::send(std::span<const std::string> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int more = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
    if (zmq_send(socket(), frames[i].data(), frames[i].size(), ZMQ_DONTWAIT | more) < 0) return;
  }
}

std::string ZapAnswerer::answer() {
  std::string stranger;
  while (const auto frames = receive()) {
    constexpr std::size_t kEnvelope = 2;
    if (frames->size() < kEnvelope) continue;
    const auto reply = zap_reply(std::span(*frames).subspan(kEnvelope), allowed_);
    if (!reply) continue;
    std::vector<std::string> parts{(*frames)[0], ""};
    parts.insert(parts.end(), reply->frames.begin(), reply->frames.end());
    send(parts);
    if (stranger.empty()) stranger = reply->stranger;
  }
  return stranger;
}

}  // namespace kimesh
