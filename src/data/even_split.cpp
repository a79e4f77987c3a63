#include "deal.h"

namespace kimesh {
namespace {

class EvenSplit final : public SplitKind {
 public:
  bool deals_alike() const override { return true; }
  Parts deal(const SplitRequest& request) const override {
    return deal_stratified(request, std::vector<double>(request.nodes, 1.0));
  }
};

}  // namespace

extern const Kind<SplitKind> kEvenSplit;
const Kind<SplitKind> kEvenSplit = {"even", "the same of every class for every node",
                                    make_options<EvenSplit, SplitKind>};

}  // namespace kimesh
