// The memory and the descriptors of this process, for tests of what strangers and peers may take of
// it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/sanitized.h"

namespace kimesh {

// Sanitizers hold memory of their own, many times what a program holds.
inline constexpr bool kResidentIsOurs = !test::kSanitized;

inline std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace kimesh
