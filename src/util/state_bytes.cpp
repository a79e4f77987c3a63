#include "kimesh/util/state_bytes.h"

#include <algorithm>
#include <cstring>

namespace kimesh {

std::span<std::byte> StateWriter::room(std::size_t bytes) {
  const std::size_t begin = size_;
  size_ += bytes;
  if (out_.size() < size_) out_.resize(std::max(size_, out_.capacity()));
  return std::span(out_).subspan(begin, bytes);
}

void StateWriter::bytes(std::span<const std::byte> more) {
  const std::span<std::byte> to = room(more.size());
  if (!more.empty()) std::memcpy(to.data(), more.data(), more.size());
}

void StateWriter::word(std::uint64_t value, std::size_t bytes) {
  const std::span<std::byte> to = room(bytes);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

std::span<const std::byte> StateReader::bytes(std::size_t size) {
  require(size <= in_.size());
  if (!ok_) return {};
  const std::span<const std::byte> taken = in_.first(size);
  in_ = in_.subspan(size);
  return taken;
}

std::uint64_t StateReader::number(std::size_t bytes) {
  std::uint64_t value = 0;
  const std::span<const std::byte> from = this->bytes(bytes);
  for (std::size_t i = 0; i < from.size(); ++i)
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

void StateReader::get(std::string& text) {
  const std::uint64_t size = number(8);
  require(size <= in_.size());
  const std::span<const std::byte> from = bytes(ok_ ? static_cast<std::size_t>(size) : 0);
  if (ok_) text.assign(reinterpret_cast<const char*>(from.data()), from.size());
}

Status StateReader::finish() const {
  if (!ok_) return Error{ErrorCode::kMalformed, "a state that is cut short, or that cannot be"};
  if (!in_.empty())
    return Error{ErrorCode::kMalformed,
                 "a state with " + std::to_string(in_.size()) + " bytes too many"};
  return ok_status();
}

}  // namespace kimesh
