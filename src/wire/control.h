// The bodies of control frames: msgpack maps. The one folder that sees msgpack is this one.
#pragma once

#include <span>
#include <vector>

#include "kimesh/wire/frame.h"

namespace kimesh {

// Appends the body to `out`.
void pack(const Hello& hello, std::vector<std::byte>& out);
void pack(const Welcome& welcome, std::vector<std::byte>& out);
void pack(const Refuse& refuse, std::vector<std::byte>& out);
void pack(const Halt& halt, std::vector<std::byte>& out);
void pack(const Bye& bye, std::vector<std::byte>& out);

// Errors: Malformed, with what is wrong.
[[nodiscard]] Result<Frame> unpack_hello(std::span<const std::byte> body);
[[nodiscard]] Result<Frame> unpack_welcome(std::span<const std::byte> body);
[[nodiscard]] Result<Frame> unpack_refuse(std::span<const std::byte> body);
[[nodiscard]] Result<Frame> unpack_halt(std::span<const std::byte> body);
[[nodiscard]] Result<Frame> unpack_bye(std::span<const std::byte> body);

}  // namespace kimesh
