#include "control.h"

#include <fmt/format.h>

#define MSGPACK_NO_BOOST  // msgpack's own copies of what it needs
#include <msgpack.hpp>
#include <optional>
#include <string_view>

namespace kimesh {
namespace {

// The first protocol in which the receiver of a link may dial.
constexpr std::uint32_t kReceiversDialSince = 6;
// The first protocol whose hello names the run.
constexpr std::uint32_t kRunSince = 5;
// Room for keys that a later version adds; a larger map is no control frame.
constexpr std::size_t kFieldsMax = 16;
// Room for four texts and the numbers; checked before msgpack reads a byte.
constexpr std::size_t kBodyBytesMax = 4 * kTextBytesMax;

Error bad_bytes(std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("malformed control frame: {}", what)};
}

// The output stream of msgpack.
struct Sink {
  std::vector<std::byte>& out;
  void write(const char* data, std::size_t size) {
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
  }
};

// The part of a text that a frame may hold, cut between UTF-8 characters.
std::string_view cut(std::string_view text) {
  if (text.size() <= kTextBytesMax) return text;
  std::size_t end = kTextBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

class MapWriter {
 public:
  MapWriter(std::vector<std::byte>& out, std::uint32_t fields) : sink_{out}, packer_(sink_) {
    packer_.pack_map(fields);
  }
  MapWriter& text(std::string_view key, std::string_view value) {
    packer_.pack(key);
    packer_.pack(cut(value));
    return *this;
  }
  MapWriter& number(std::string_view key, std::uint64_t value) {
    packer_.pack(key);
    packer_.pack_uint64(value);
    return *this;
  }

 private:
  Sink sink_;
  msgpack::packer<Sink> packer_;
};

// Reads fields by name and remembers the first thing that is wrong.
class MapReader {
 public:
  explicit MapReader(std::span<const std::byte> body) {
    if (body.size() > kBodyBytesMax) {
      fail("it is too long");
      return;
    }
    // The limits of msgpack on arrays, maps, texts, binary values, extensions and depth: what a
    // peer may make it hold.
    const msgpack::unpack_limit limit(0, kFieldsMax, kTextBytesMax, 0, 0, 2);
    std::size_t used = 0;
    try {
      handle_ = msgpack::unpack(reinterpret_cast<const char*>(body.data()), body.size(), used,
                                nullptr, nullptr, limit);
    } catch (const std::exception&) {
      fail("it is no msgpack map of numbers and texts");
      return;
    }
    if (used != body.size()) fail("bytes follow its map");
    if (handle_.get().type != msgpack::type::MAP) fail("it is no map");
  }

  void text(std::string_view key, std::string& value) {
    const msgpack::object* field = find(key, msgpack::type::STR);
    if (field) value.assign(field->via.str.ptr, field->via.str.size);
  }
  template <typename T>
  void number(std::string_view key, T& value) {
    const msgpack::object* field = find(key, msgpack::type::POSITIVE_INTEGER);
    if (!field) return;
    if (field->via.u64 > std::numeric_limits<T>::max())
      fail(fmt::format("its {} is too large", key));
    value = static_cast<T>(field->via.u64);
  }
  template <typename T>
  [[nodiscard]] Result<Frame> done(T frame) {
    if (problem_) return bad_bytes(*problem_);
    return Frame(std::move(frame));
  }

 private:
  void fail(std::string what) {
    if (!problem_) problem_ = std::move(what);
  }
  const msgpack::object* find(std::string_view key, msgpack::type::object_type type) {
    if (problem_) return nullptr;
    const msgpack::object* found = nullptr;
    const auto& map = handle_.get().via.map;
    for (std::uint32_t i = 0; i < map.size; ++i) {
      const msgpack::object_kv& pair = map.ptr[i];
      if (pair.key.type != msgpack::type::STR) continue;
      if (std::string_view(pair.key.via.str.ptr, pair.key.via.str.size) != key) continue;
      if (found) fail(fmt::format("it says {} twice", key));
      found = &pair.val;
    }
    if (!found)
      fail(fmt::format("it has no {}", key));
    else if (found->type != type)
      fail(fmt::format("its {} has the wrong type", key));
    return problem_ ? nullptr : found;
  }

  msgpack::object_handle handle_;
  std::optional<std::string> problem_;
};

}  // namespace

void pack(const Hello& hello, std::vector<std::byte>& out) {
  MapWriter(out, 15)
      .number("protocol", hello.protocol)
      .text("from", hello.from)
      .text("to", hello.to)
      .number("incarnation", hello.incarnation)
      .number("topology", hello.topology_digest)
      .number("config", hello.config_digest)
      .number("parameters", hello.parameters_digest)
      .text("build", hello.build)
      .number("run", hello.run)
      .number("view", hello.view)
      .number("connection", hello.connection)
      .number("receiver", hello.from_receiver ? 1 : 0)
      .number("sender", hello.sender)
      .number("delivered", hello.delivered)
      .number("held", hello.held);
}
void pack(const Welcome& welcome, std::vector<std::byte>& out) {
  MapWriter(out, 5)
      .text("from", welcome.from)
      .number("incarnation", welcome.incarnation)
      .number("connection", welcome.connection)
      .number("delivered", welcome.delivered)
      .number("held", welcome.held);
}
void pack(const Refuse& refuse, std::vector<std::byte>& out) {
  MapWriter(out, 1).text("sentence", refuse.sentence);
}
void pack(const Halt& halt, std::vector<std::byte>& out) {
  MapWriter(out, 3)
      .text("node", halt.node)
      .number("kind", static_cast<std::uint8_t>(halt.kind))
      .text("reason", halt.reason);
}
void pack(const Bye& bye, std::vector<std::byte>& out) {
  MapWriter(out, 1).text("node", bye.node);
}

Result<Frame> unpack_hello(std::span<const std::byte> body) {
  MapReader map(body);
  Hello hello;
  map.number("protocol", hello.protocol);
  map.text("from", hello.from);
  map.text("to", hello.to);
  map.number("incarnation", hello.incarnation);
  map.number("topology", hello.topology_digest);
  map.number("config", hello.config_digest);
  map.number("parameters", hello.parameters_digest);
  map.text("build", hello.build);
  if (hello.protocol >= kRunSince) {  // an older hello is read, so that it can be refused
    map.number("run", hello.run);
    map.number("view", hello.view);
    map.number("connection", hello.connection);
  }
  if (hello.protocol >= kReceiversDialSince) {
    std::uint8_t from_receiver = 0;
    map.number("receiver", from_receiver);
    hello.from_receiver = from_receiver != 0;
    map.number("sender", hello.sender);
    map.number("delivered", hello.delivered);
    map.number("held", hello.held);
  }
  return map.done(std::move(hello));
}
Result<Frame> unpack_welcome(std::span<const std::byte> body) {
  MapReader map(body);
  Welcome welcome;
  map.text("from", welcome.from);
  map.number("incarnation", welcome.incarnation);
  map.number("connection", welcome.connection);
  map.number("delivered", welcome.delivered);
  map.number("held", welcome.held);
  return map.done(std::move(welcome));
}
Result<Frame> unpack_refuse(std::span<const std::byte> body) {
  MapReader map(body);
  Refuse refuse;
  map.text("sentence", refuse.sentence);
  return map.done(std::move(refuse));
}
Result<Frame> unpack_halt(std::span<const std::byte> body) {
  MapReader map(body);
  Halt halt;
  map.text("node", halt.node);
  std::uint8_t kind = 0;
  map.number("kind", kind);
  halt.kind = static_cast<HaltKind>(kind);
  map.text("reason", halt.reason);
  return map.done(std::move(halt));
}
Result<Frame> unpack_bye(std::span<const std::byte> body) {
  MapReader map(body);
  Bye bye;
  map.text("node", bye.node);
  return map.done(std::move(bye));
}

}  // namespace kimesh
