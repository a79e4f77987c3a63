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

struct Named {
  std::string_view name;
  std::int64_t target;
};
constexpr std::array<Named, 5> kNames = {{{"avx512", HWY_AVX3},
                                          {"avx2", HWY_AVX2},
                                          {"sse4", HWY_SSE4},
                                          {"neon", HWY_NEON},
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
    if ((detected() & named.target) != 0) names.push_back(named.name);
  return names;
}

std::string_view simd_target() {
  const std::int64_t target = HWY_DYNAMIC_DISPATCH(target_in_use)();
  for (const Named& named : kNames)
    if (named.target == target) return named.name;
  return "unknown";
}

Status force_simd(std::string_view name) {
  std::int64_t target = 0;  // all
  std::string known;
  for (const Named& named : kNames) {
    if ((detected() & named.target) == 0) continue;
    known += (known.empty() ? "" : ", ") + std::string(named.name);
    if (named.name == name) target = named.target;
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
