// Ports of nodes that all run here.
#include "kimesh/link/free_ports.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <set>

namespace kimesh::free_ports_test {
namespace {

// Sets the limits on descriptors, and the soft one back in the end.
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
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const auto ports = free_ports(before.rlim_max + 1);
  ASSERT_FALSE(ports.ok());
  EXPECT_THAT(ports.error().message, testing::HasSubstr("free ports of 127.0.0.1: "));
}

}  // namespace
}  // namespace kimesh::free_ports_test
