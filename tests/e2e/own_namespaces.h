// Namespaces for a program under test, which end with it: for Program's `prepare`.
#pragma once

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace kimesh::test {

inline bool say_to(const char* file, const std::string& text) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool said = fd >= 0 && ::write(fd, text.data(), text.size()) == ssize_t(text.size());
  ::close(fd);
  return said;
}

// Moves this process to new namespaces (CLONE_NEWNS and others), as root, or as a user where the
// system lets users be root in a space of their own. What is mounted then is seen by nobody else.
inline bool leave_namespaces(int which) {
  const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
  const bool left = ::unshare(which) == 0 || (::unshare(CLONE_NEWUSER | which) == 0 &&
                                              say_to("/proc/self/setgroups", "deny") &&
                                              say_to("/proc/self/uid_map", "0 " + user + " 1") &&
                                              say_to("/proc/self/gid_map", "0 " + group + " 1"));
  return left && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// In a network namespace that is new.
inline bool start_loopback() {
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool up = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &loopback) == 0;
  ::close(fd);
  return up;
}

}  // namespace kimesh::test
