#include "kimesh/events/work.h"

#include "kimesh/util/overloaded.h"

namespace kimesh {

const char* doing(const VectorWork& work) {
  return std::visit(
      Overloaded{[](const AdvanceChannel&) { return "making a message"; },
                 [](const ApplyMessage&) { return "applying a message"; },
                 [](const StepShard&) { return "stepping a shard"; },
                 [](const TakeMovement&) { return "making its movement"; },
                 [](const SaveState&) { return "copying its state for a checkpoint"; },
                 [](const LoadState&) { return "reading a checkpoint"; }},
      work);
}

const char* doing(const TrainerWork& work) {
  return std::visit(Overloaded{[](const ComputeGradient&) { return "computing a gradient"; },
                               [](const Evaluate&) { return "evaluating"; }},
                    work);
}

}  // namespace kimesh
