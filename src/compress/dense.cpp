// Identity in float32: a message is the vector itself.
#include "src/compress/families.h"

namespace kimesh {

Result<Advanced> advance_dense(const AdvanceJob& job) {
  Advanced result;
  result.bytes.resize(job.size() * sizeof(float));
  auto assigned = job.difference.assign(job, result.bytes);
  if (!assigned) return assigned.error();
  result.form = Form::kDense;
  result.kept = job.size();
  result.wanted_energy = assigned->energies.target;
  result.curve = std::move(assigned->curve);
  return result;
}

}  // namespace kimesh
