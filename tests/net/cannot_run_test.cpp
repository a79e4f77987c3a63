#include "tests/cannot_run.h"

#include <gtest/gtest-spi.h>

namespace kimesh::test::cannot_run_test {
namespace {

class CannotRun : public testing::Test {
 protected:
  ~CannotRun() override { was_set_ ? ::setenv("CI", before_.c_str(), 1) : ::unsetenv("CI"); }

 private:
  const bool was_set_ = std::getenv("CI") != nullptr;
  const std::string before_ = was_set_ ? std::getenv("CI") : "";
};

TEST_F(CannotRun, FailsWhereNobodyReadsWhatWasSkipped) {
  ::setenv("CI", "true", 1);
  EXPECT_FATAL_FAILURE(cannot_run("no namespaces here"),
                       "no namespaces here. Where CI=true this test must run.");
}

TEST_F(CannotRun, SkipsElsewhereWithItsSentence) {
  for (const char* value : {"false", ""}) {
    ::setenv("CI", value, 1);
    testing::TestPartResultArray results;
    {
      testing::ScopedFakeTestPartResultReporter reporter(&results);
      cannot_run("no namespaces here");
    }
    ASSERT_EQ(results.size(), 1);
    EXPECT_TRUE(results.GetTestPartResult(0).skipped());
    EXPECT_STREQ(results.GetTestPartResult(0).message(), "no namespaces here");
  }
}

}  // namespace
}  // namespace kimesh::test::cannot_run_test
