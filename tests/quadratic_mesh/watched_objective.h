// An objective that tells a test of each gradient that it has computed.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "kimesh/objective/objective.h"

namespace kimesh::test {

class WatchedObjective final : public Objective {
 public:
  // `computed` is called after each gradient, with the number of the batch, which is the round
  // without local steps, and the gradient [d].
  using Watch = std::function<void(std::uint64_t batch, std::span<const float> gradient)>;

  WatchedObjective(std::unique_ptr<Objective> of, Watch computed)
      : of_(std::move(of)), computed_(std::move(computed)) {}
  const Layout& layout() const override { return of_->layout(); }
  void initialise(std::span<float> parameters) override { of_->initialise(parameters); }
  void bind(std::span<float> parameters, std::span<float> gradient) override {
    gradient_ = gradient;
    of_->bind(parameters, gradient);
  }
  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    auto numbers = of_->gradient(batch);
    computed_(batch, gradient_);
    return numbers;
  }

 private:
  std::unique_ptr<Objective> of_;
  Watch computed_;
  std::span<const float> gradient_;
};

}  // namespace kimesh::test
