// One question to another server of this kind.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace kimesh {

// To connect, and then for each part of the answer: who answers later is taken for absent.
inline constexpr std::chrono::milliseconds kHttpAskTime{500};
// From the question to the end of the answer.
inline constexpr std::chrono::seconds kHttpAskTimeMax{2};

struct HttpQuestion {
  std::string host;  // a name, or an IP address without brackets
  int port = 0;
  std::string path;
  std::string token;                  // empty: none
  std::size_t bytes_max = 512 << 10;  // of the answer's body
};

// The body of a good answer; nothing: nobody answers there in time, or otherwise than with 200, or
// at too great a length. Blocks for kHttpAskTimeMax at most, besides what it takes to find the
// address of a name, and what a server adds that dribbles the head of its answer.
[[nodiscard]] std::optional<std::string> http_ask(const HttpQuestion& question);

}  // namespace kimesh
