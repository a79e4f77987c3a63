// The summary of a run: runs/NAME/summary.json, the text that is printed at the end, and the
// figures of --json.
//
// summary.json:
//   outcome, reason, text     as a node's end (recorder.h), of the mesh
//   accuracy, accuracy_round  of the latest evaluation; null: none
//   test_loss                 of that evaluation, mean of a sample (of text: a token); null: none
//   perplexity                exp(test_loss), of models of text; else absent
//   loss                      the mesh's, of the last round; null: unknown, or no round has ended
//   rounds                    with a gradient, completed by every node
//   seconds                   run's clock: from the first round on, without evaluation
//   bytes_sent                on all links: all frames in a live run, message bytes in a simulated
//   bytes_dense               the same messages as float32 without any header
//   compression_ratio         bytes_dense / bytes_sent; null: nothing was sent
//   slowest_link              {from, to, rate_bits_per_s} by estimated rate; null: none is known
//   gradient_norm_squared     of the quadratics, in float64 at the owners' x; else absent
//   digests                   {model, shards: [by shard]}, 16 hexadecimal digits each; null: there
//                             is no whole model
//   complete                  whether every shard of the model is its owner's; false also where
//                             there is no model
//   links                     [{from, to, rate_bits_per_s, rate_error, true_rate_bits_per_s,
//                             bytes_sent, bytes_dense, bytes, kept, elements, wire_s, and counters
//                             as at a node's end}]
//   nodes                     [{name, rounds, outcome, text, compute_s, evaluate_s, encode_s,
//                             apply_s, step_s, wait_s}]; outcome "lost": its process left no end;
//                             under feedback: ef14 also residual_energy and residual_share of its
//                             last round with a gradient
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/records/tally.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct RunEnd {
  Outcome outcome = Outcome::kFailed;
  StopReason reason = StopReason::kNone;
  std::string text;
  std::optional<double> gradient_norm_squared;
  std::vector<float> model;  // [plan.layout.size()], or empty: there is none
  bool complete = false;     // every shard of it is its owner's
};

// The text of summary.json, with a line feed at the end.
[[nodiscard]] std::string summary_json(const RunTally& tally, const RunEnd& end);
// A few lines for people: outcome, accuracy, losses, time, bytes beside those of dense messages,
// slowest link.
[[nodiscard]] std::string summary_text(const RunTally& tally, const RunEnd& end);

// One measured number. `runs` holds the values that it is the median of.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  std::vector<double> runs;
};
// {"figures": [{name, value, unit, runs}, ...]}
[[nodiscard]] std::string figures_json(std::span<const Figure> figures);
[[nodiscard]] std::vector<Figure> figures_of(const RunTally& tally, const RunEnd& end);

}  // namespace kimesh
