// Identity in float32: a message is the vector itself.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/vector_math.h"
#include "src/compress/families.h"

namespace kimesh {
namespace {

static_assert(std::endian::native == std::endian::little,
              "messages are written as memory holds them");

}  // namespace

Result<Advanced> advance_dense(const AdvanceJob& job) {
  if (const auto bad = kernels::first_not_finite(job.target)) return not_finite_at(*bad);
  Advanced result;
  if (job.with_curve && !job.estimate.empty()) result.curve = difference_curve(job);
  result.form = Form::kDense;
  result.kept = job.target.size();
  result.bytes.resize(job.target.size_bytes());
  if (!job.target.empty())
    std::memcpy(result.bytes.data(), job.target.data(), job.target.size_bytes());
  if (!job.estimate.empty()) std::ranges::copy(job.target, job.estimate.begin());
  result.wanted_energy = kernels::energy(job.target);
  return result;
}

}  // namespace kimesh
