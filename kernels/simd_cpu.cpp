#include <array>
#include <cstdint>
#include <string>

#include "kimesh/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {
std::int64_t target_in_use() {
  return HWY_TARGET;
}
}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(target_in_use);

// All sets of Arm that are compiled are NEON, with and without instructions that no kernel uses:
// newer versions of Highway tell these apart.
constexpr std::int64_t kNeon =
    (2LL << HWY_HIGHEST_TARGET_BIT_ARM) - (2LL << HWY_HIGHEST_TARGET_BIT_X86);

struct Named {
  std::string_view name;
  std::int64_t targets;
};
constexpr std::array<Named, 5> kNames = {{{"avx512", HWY_AVX3},
                                          {"avx2", HWY_AVX2},
                                          {"sse4", HWY_SSE4},
                                          {"neon", kNeon},
                                          {"scalar", HWY_SCALAR}}};

// What the machine has, whatever is forced: detection sees through no mask of a test.
std::int64_t detected() {
  static const std::int64_t targets = [] {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedTargets();
  }();
  return (targets | HWY_SCALAR) & (HWY_TARGETS);
}

}  // namespace

std::vector<std::string_view> simd_targets() {
  std::vector<std::string_view> names;
  for (const Named& named : kNames)
    if ((detected() & named.targets) != 0) names.push_back(named.name);
  return names;
}

std::string_view simd_target() {
  const std::int64_t target = HWY_DYNAMIC_DISPATCH(target_in_use)();
  for (const Named& named : kNames)
    if ((named.targets & target) != 0) return named.name;
  return "unknown";
}

Status force_simd(std::string_view name) {
  std::int64_t target = 0;  // all
  std::string known;
  for (const Named& named : kNames) {
    const std::int64_t found = detected() & named.targets;
    if (found == 0) continue;
    known += (known.empty() ? "" : ", ") + std::string(named.name);
    if (named.name == name) target = found;
  }
  if (target == 0 && !name.empty())
    return Error{ErrorCode::kUserInput, "this machine has no instruction set '" +
                                            std::string(name) + "'; it has " + known};
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return ok_status();
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
