// Keys for kinds of data whose test set is at a path of its own, or else a share.
#pragma once

#include <string>

#include "kimesh/config/keys.h"
#include "limits.h"

namespace kimesh {

struct TestSet {
  std::string path;  // empty: `share` of the samples
  double share = limits::kTestShareDefault;

  // `what` the path names: "file of the test set".
  void describe(Keys& keys, std::string_view what) {
    keys.path("test", path, what);
    if (!path.empty() && !keys.wants_all())
      return keys.refuse({"test_share"}, "test, which names the test set");
    keys.number("test_share", share, limits::kTestShares, limits::kTestShareHelp);
  }
};

}  // namespace kimesh
