#include <algorithm>
#include <cmath>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
#include "kimesh/kernels/host_memory.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

bool is_negative_zero(float value) {
  return value == 0 && std::signbit(value);
}

// The entries that a payload adds to the estimate, without those that change nothing. A zero that
// is added to −0 makes +0 of it, and −0 changes no value.
void take_entries(const Content& content, std::span<const float> estimate,
                  kernels::Entries& entries) {
  std::vector<float> sum(estimate.size(), -0.0f);
  add_content(content, kernels::host_memory(), kernels::MemorySpan(std::span(sum)));
  entries.clear();
  entries.resize(estimate.size());
  std::size_t kept = 0;
  for (std::size_t j = 0; j < estimate.size(); ++j) {
    if (is_negative_zero(sum[j]) || (sum[j] == 0 && !is_negative_zero(estimate[j]))) continue;
    entries.indices[kept] = static_cast<std::uint32_t>(j);
    entries.values[kept++] = sum[j];
  }
  entries.resize(kept);
}

}  // namespace

Result<Advanced> HostCodec::advance(const AdvanceJob& job) const {
  auto survey = job.difference.survey(job);
  if (!survey) return survey.error();
  const auto target = job.difference.target_on_host(), estimate = job.difference.estimate_on_host();
  std::vector<float> difference(job.size());
  for (std::size_t j = 0; j < difference.size(); ++j) difference[j] = target[j] - estimate[j];
  Advanced result;
  result.form = encode(difference, job.setting, result.bytes);
  const auto form = std::ranges::find(forms(), result.form, &WireForm::form);
  KIMESH_CHECK(form != forms().end(), "a codec declares the forms that it writes");
  const auto content = form->decode(result.bytes, job.size());
  KIMESH_CHECK(content.ok(), "a codec decodes what it encoded");
  take_entries(*content, estimate, job.scratch.entries);
  result.curve = std::move(survey->curve);
  if (Status added = add_to_estimate(job, survey->energies, result); !added) return added.error();
  return result;
}

}  // namespace kimesh
