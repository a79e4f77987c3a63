// redsync: about the largest elements, by a threshold that is bisected.
#include "sparse_codec.h"
#include "thresholds.h"

namespace kimesh {
namespace {

class Redsync final : public SparseCodec {
  Result<Selected> select(const AdvanceJob& job, std::uint32_t keep, bool full) const override {
    return select_redsync(job, keep, full);
  }
};

}  // namespace

Kind<Codec> redsync_codec() {
  return {"redsync", "about the largest elements, by a threshold that is bisected",
          make_options<Redsync, Codec>};
}

}  // namespace kimesh
