#include "kimesh/util/state_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kimesh {

std::span<std::byte> StateWriter::room(std::size_t bytes) {
  const std::size_t begin = size_;
  size_ += bytes;
  if (out_.size() < size_) out_.resize(size_);
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

void StateReader::fill(std::span<std::byte> to) {
  require(to.size() <= left());
  if (!ok_ || to.empty()) return;
  if (source_) return require(source_->read(to));
  std::memcpy(to.data(), in_.data(), to.size());
  in_ = in_.subspan(to.size());
}

std::uint64_t StateReader::number(std::size_t bytes) {
  std::array<std::byte, sizeof(std::uint64_t)> from{};
  fill(std::span(from).first(bytes));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

void StateReader::get(std::string& text) {
  const std::uint64_t size = number(8);
  require(size <= left());
  if (!ok_) return;
  std::string read(static_cast<std::size_t>(size), '\0');
  fill(std::as_writable_bytes(std::span(read)));
  if (ok_) text = std::move(read);
}

Status StateReader::finish() const {
  if (!ok_) return Error{ErrorCode::kMalformed, "a state that is cut short, or that cannot be"};
  if (left() > 0)
    return Error{ErrorCode::kMalformed,
                 "a state with " + std::to_string(left()) + " bytes too many"};
  return ok_status();
}

}  // namespace kimesh
