#include <algorithm>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
#include "kimesh/kernels/host_memory.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The entries that a payload adds, without zeros.
void take_entries(const Content& content, std::size_t size, kernels::Entries& entries) {
  std::vector<float> sum(size, 0.0f);
  add_content(content, kernels::host_memory(), kernels::MemorySpan(std::span(sum)));
  entries.clear();
  entries.resize(size);
  std::size_t kept = 0;
  for (std::size_t j = 0; j < size; ++j) {
    if (sum[j] == 0) continue;
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
  take_entries(*content, job.size(), job.scratch.entries);
  result.curve = std::move(survey->curve);
  if (Status added = add_to_estimate(job, survey->energies, result); !added) return added.error();
  return result;
}

}  // namespace kimesh
