// Each class dealt by a draw of Dirichlet(concentration) (Hsu et al., 2019).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "deal.h"
#include "kimesh/config/keys.h"
#include "kimesh/data/dataset.h"
#include "limits.h"
#include "stratify.h"

namespace kimesh {
namespace {

// A draw of Dirichlet(concentration, ..., concentration), as running sums from 0 to 1.
std::vector<double> dirichlet_cuts(double concentration, std::size_t nodes, Random random) {
  std::vector<double> share(nodes);
  for (double& s : share) s = random.gamma(concentration);
  double sum = std::accumulate(share.begin(), share.end(), 0.0);
  if (!(sum > 0)) {  // tiny concentrations underflow; their limit is one node that takes all
    sum = share[random.below(static_cast<std::uint32_t>(nodes))] = 1;
  }
  std::vector<double> cuts{0};
  for (const double s : share) cuts.push_back(cuts.back() + s / sum);
  cuts.back() = 1;
  return cuts;
}

// A node that got nothing takes a sample of the richest.
void feed_empty(Parts& parts) {
  for (auto& part : parts) {
    if (!part.empty()) continue;
    auto richest = std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      return a.size() < b.size();
    });
    part.push_back(richest->back());
    richest->pop_back();
  }
}

class DirichletSplit final : public SplitKind {
 public:
  void describe(Keys& keys) override {
    keys.require("dirichlet", "a concentration, such as split: {dirichlet: 0.3}");
    keys.number("dirichlet", concentration_, limits::kConcentrations,
                "concentration of a class: the smaller, the fewer nodes hold most of it");
  }
  std::string_view example() const override { return "{dirichlet: 0.3}"; }

  Parts deal(const SplitRequest& request) const override {
    Parts parts(request.nodes);
    const Parts classes =
        shuffled_classes(request.train, request.seed, kOrderStream, Purpose::kDataSplit);
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
      const auto cuts =
          dirichlet_cuts(concentration_, request.nodes,
                         Random(request.seed, c, kDirichletStream, Purpose::kDataSplit));
      const auto size = static_cast<double>(classes[c].size());
      for (std::size_t i = 0; i < request.nodes; ++i)
        for (auto k = std::llround(cuts[i] * size); k < std::llround(cuts[i + 1] * size); ++k)
          parts[i].push_back(classes[c][static_cast<std::size_t>(k)]);
    }
    feed_empty(parts);
    return parts;
  }

 private:
  double concentration_ = 0.3;
};

}  // namespace

extern const Kind<SplitKind> kDirichletSplit;
const Kind<SplitKind> kDirichletSplit = {"dirichlet", "each class by a random draw",
                                         make_options<DirichletSplit, SplitKind>};

}  // namespace kimesh
