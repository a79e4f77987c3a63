// threshold: every element that reaches a given magnitude.
#include <cmath>

#include "kimesh/util/check.h"
#include "sparse_codec.h"

namespace kimesh {
namespace {

constexpr double kThresholdMin = 1e-30;  // smaller differences lose digits in float32
constexpr double kThresholdMax = 1e30;

class Threshold final : public SparseCodec {
 public:
  void describe(Keys& keys) override {
    SparseCodec::describe(keys);
    keys.number("threshold", threshold_, {kThresholdMin, kThresholdMax},
                "smallest difference that is sent");
  }
  CodecTraits traits() const override {
    CodecTraits traits = SparseCodec::traits();
    traits.keeps_elements = traits.meets_budgets = false;
    traits.element_bytes = 0;
    traits.on_devices = true;
    return traits;
  }
  std::string_view size_key() const override { return "threshold"; }
  bool has_own_size() const override { return threshold_.has_value(); }

 private:
  Result<PassSummary> select(const AdvanceJob& job, std::uint32_t, bool) const override {
    const auto lower = static_cast<float>(threshold_.value_or(0));
    KIMESH_CHECK(lower > 0 && std::isfinite(lower), "a threshold above 0");
    return job.difference.select_reaching(job, lower);
  }

  std::optional<double> threshold_;
};

}  // namespace

Kind<Codec> threshold_codec() {
  return {"threshold", "the elements that reach a threshold", make_options<Threshold, Codec>};
}

}  // namespace kimesh
