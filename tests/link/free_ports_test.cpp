// Ports of nodes that all run here.
#include "kimesh/link/free_ports.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <set>

namespace kimesh::free_ports_test {
namespace {

// Sets the soft limit on descriptors, and back in the end.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t soft) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{soft, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Seen to fail where the limit was raised with the first network only.
TEST(FreePorts, AreManyMoreThanTheSoftLimitOfDescriptors) {
  const DescriptorLimit limit(64);
  const auto ports = free_ports(100);
  ASSERT_TRUE(ports.ok()) << ports.error().message;
  EXPECT_EQ(std::set<int>(ports->begin(), ports->end()).size(), 100u);
}

// Seen to fail: the program ended with "kimesh has a bug".
TEST(FreePorts, ThatCannotBeHadAreAnError) {
  const auto ask_with_a_low_limit = [] {
    const rlimit low{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &low);
    const auto ports = free_ports(100);
    std::fputs(ports.ok() ? "there were so many" : ports.error().message.c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(ask_with_a_low_limit(), testing::ExitedWithCode(0), "100 free ports of 127.0.0.1: ");
}

}  // namespace
}  // namespace kimesh::free_ports_test
