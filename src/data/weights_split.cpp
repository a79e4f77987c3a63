#include "deal.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

class WeightsSplit final : public SplitKind {
 public:
  bool needs_weights() const override { return true; }
  bool deals_alike() const override { return true; }
  Parts deal(const SplitRequest& request) const override {
    KIMESH_CHECK(request.weights.size() == request.nodes, "one weight a node");
    return deal_stratified(request, request.weights);
  }
};

}  // namespace

extern const Kind<SplitKind> kWeightsSplit;
const Kind<SplitKind> kWeightsSplit = {"weights", "sizes in proportion to the nodes' data_weight",
                                       make_options<WeightsSplit, SplitKind>};

}  // namespace kimesh
