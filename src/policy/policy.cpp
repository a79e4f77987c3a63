#include "kimesh/policy/policy.h"

#include <array>

#include "kimesh/util/check.h"
#include "src/policy/policies.h"

namespace kimesh {
namespace {

using Kind = PolicyOptions::Kind;

struct KindOfPolicy {
  Kind kind;
  std::unique_ptr<Policy> (*make)(const PolicyOptions&);
};

constexpr std::array<KindOfPolicy, 5> kPolicies{{{Kind::kNone, make_dense},
                                                 {Kind::kFixed, make_fixed},
                                                 {Kind::kKimad, make_kimad},
                                                 {Kind::kKimadPlus, make_kimad_plus},
                                                 {Kind::kGravac, make_gravac}}};

}  // namespace

std::unique_ptr<Policy> make_policy(const PolicyOptions& options) {
  for (const KindOfPolicy& row : kPolicies)
    if (row.kind == options.kind) return row.make(options);
  KIMESH_CHECK(false, "a policy of a kind that is in the table");
  return nullptr;
}

}  // namespace kimesh
