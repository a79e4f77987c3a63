// No test takes a port that another one wants: every test process has loopback addresses of its
// own, made of its process id, so that the ports of the shipped topologies are free there.
#pragma once

#include <unistd.h>

#include <string>

namespace kimesh::test {

// A loopback address of this process alone. Its second byte is `first` and up to 63 more, so that
// 128 gives a second address.
inline std::string own_host(int first = 64) {
  const int pid = ::getpid();
  return "127." + std::to_string(first + (pid >> 16)) + "." + std::to_string((pid >> 8) & 255) +
         "." + std::to_string(pid & 255);
}

}  // namespace kimesh::test
