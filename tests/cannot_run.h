// The end of a test that needs what this machine does not let it have: root, namespaces of its own,
// mounts or containers. Where CI=true in the environment it fails, since nobody reads what a run
// there has skipped; elsewhere it is skipped. Tests of files, programs and devices that are not
// there skip everywhere.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

namespace kimesh::test {

inline bool is_continuous_integration() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

// `why` is a sentence. The caller returns: `return cannot_run("only root may ...");`
inline void cannot_run(const std::string& why,
                       std::source_location at = std::source_location::current()) {
  if (!is_continuous_integration()) GTEST_SKIP() << why;
  GTEST_FAIL_AT(at.file_name(), static_cast<int>(at.line()))
      << why << ". Where CI=true this test must run.";
}

}  // namespace kimesh::test
