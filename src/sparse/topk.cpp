// topk: exactly the k elements of the largest magnitude.
#include <algorithm>

#include "kimesh/codec/allocation.h"
#include "kimesh/codec/select.h"
#include "sparse_codec.h"

namespace kimesh {
namespace {

class Topk final : public LargestCodec {
 public:
  CodecTraits traits() const override {
    CodecTraits traits = LargestCodec::traits();
    traits.on_devices = true;
    traits.has_curves = true;
    return traits;
  }

  // Divides elements: one threshold over the elements of all messages.
  std::vector<double> divide(const SharedBudget& shared) const override {
    const std::vector<double> floors(shared.floors.begin(), shared.floors.end());
    return threshold_allocation(shared.curves, shared.total, floors);
  }
  std::vector<double> missing_within(const Curve& curve, std::span<const double> payload_bytes,
                                     Rounding) const override {
    std::vector<double> kept;
    for (const double bytes : payload_bytes) kept.push_back(bytes / unit_bytes());
    return missing_beyond(curve, kept);
  }
  double unit_bytes() const override { return entry_bytes_about(); }

 private:
  Result<PassSummary> select(const AdvanceJob& job, std::uint32_t keep, bool) const override {
    return select_topk(job, keep);
  }
};

}  // namespace

Kind<Codec> topk_codec() {
  return {"topk", "the elements of the largest magnitude", make_options<Topk, Codec>};
}

}  // namespace kimesh
