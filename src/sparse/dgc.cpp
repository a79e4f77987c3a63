// dgc: about the largest elements, by a threshold that a sample gives.
#include "sparse_codec.h"
#include "thresholds.h"

namespace kimesh {
namespace {

class Dgc final : public SparseCodec {
  Result<Selected> select(const AdvanceJob& job, std::uint32_t keep, bool full) const override {
    return select_dgc(job, keep, full);
  }
};

}  // namespace

Kind<Codec> dgc_codec() {
  return {"dgc", "about the largest elements, by a threshold that a sample gives",
          make_options<Dgc, Codec>};
}

}  // namespace kimesh
