#include "kimesh/policy/compression_options.h"

#include <fmt/format.h>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/key_values.h"
#include "kimesh/config/local_steps.h"
#include "kimesh/util/check.h"

namespace kimesh {

CompressionOptions::CompressionOptions()
    : policy(policies().make("none")), codec(codecs().make("topk")) {}

void CompressionOptions::describe(Keys& keys) {
  keys.require("policy", "policy: kimad");
  const PolicyOptions* before = policy.get();
  keys.kind("policy", policy, policies(), "what decides how much each message carries");
  const bool is_named = policy.get() != before;  // by a file
  if (is_named) {
    const Scheme usual = policy->usual_scheme();
    if (usual.compressor != codec->kind_name()) codec = codecs().make(usual.compressor);
    feedback = usual.feedback;
    gather = usual.gather;
    look_ahead = usual.look_ahead;
    overlap = usual.overlap;
  }
  keys.kind("compressor", codec, codecs(), "what messages are made with; auto has another default");
  keys.choice(
      "feedback", feedback,
      {{"ef21", Feedback::kEf21}, {"ef14", Feedback::kEf14}, {"none", Feedback::kNone}},
      "what a reduce carries, and where it keeps what compression dropped; auto has another "
      "default");
  keys.choice(
      "gather", gather, {{"per_link", Gather::kPerLink}, {"shared", Gather::kShared}},
      "what a node sends its children: a message sized by each link, or the owner's own; auto has "
      "another default");
  keys.choice(
      "one_point", one_point,
      {{"false", Use::kNever}, {"true", Use::kAlways}, {"auto", Use::kChosen}},
      "true: an owner takes gradients of its shard at what it has sent of it, as other nodes "
      "do; false: at the shard itself; auto: false where gather is per_link and a model's "
      "data are dealt out evenly or by weights, else true");
  keys.choice("look_ahead", look_ahead,
              {{"false", Use::kNever}, {"true", Use::kAlways}, {"auto", Use::kChosen}},
              "with ef14: whether a node takes its gradient where its own momentum and residual "
              "lead; policy auto: auto");
  keys.choice("overlap", overlap,
              {{"false", Use::kNever}, {"true", Use::kAlways}, {"auto", Use::kChosen}},
              "whether gradients are computed beside the messages of the round before; policy "
              "auto: auto, where the mesh learns faster so");
  keys.whole(
      "local_steps", local_steps, kLocalStepCounts,
      "with ef14: optimizer steps of a node between two rounds of messages, which carry their "
      "sum; without it policy auto chooses, and others take 1");
  keys.whole("digest_every", digest_every, {0, kRoundsMax},
             "rounds between digests of both ends of a channel; 0: never");
  if (is_named) check(keys);
}

bool CompressionOptions::sends_movements() const {
  return feedback == Feedback::kEf14 && !policy->sends_everything();
}

// A node looks ahead by its own movement and residual, which only EF14 lets it know.
Use CompressionOptions::looks_ahead() const {
  return sends_movements() ? look_ahead : Use::kNever;
}

// A gradient that is computed beside messages has to look ahead of what they bring.
Use CompressionOptions::overlaps() const {
  return looks_ahead() == Use::kNever ? Use::kNever : overlap;
}

// The sum of several steps is a movement.
bool CompressionOptions::chooses_local_steps() const {
  return !local_steps && sends_movements() && policy->round_time_use() == RoundTimeUse::kChooses;
}

void CompressionOptions::check(Keys& keys) {
  if (!policy->sends_everything()) {
    keys.check(
        feedback == Feedback::kNone || codec->traits().contractive, "compressor",
        fmt::format("compressor: {} as its keys make it may leave more than there was, which "
                    "feedback would add up",
                    codec->kind_name()),
        "Write feedback: none, or leave these keys out");
    keys.check(
        feedback != Feedback::kNone || policy->round_time_use() != RoundTimeUse::kChooses,
        "feedback",
        fmt::format("policy: {} counts on what is left out to come later, and feedback: none "
                    "drops it",
                    policy->kind_name()),
        "Write feedback: ef14, or policy: kimad with a round_time");
    check_one_point(keys);
    check_look_ahead(keys);
    const Place place = policy->place();
    keys.check(!place.feedback || feedback == *place.feedback, place.key,
               fmt::format("{} counts what workers keep for later as sent later, which only "
                           "feedback: ef14 does",
                           place.says),
               fmt::format("Write feedback: ef14, or leave out {}", place.key));
    check_local_steps(keys);
    return policy->check(*codec, keys);
  }
  const std::string_view reason = "policy: none, which sends everything";
  if (!codec->is_dense()) keys.refuse({"compressor", "values"}, reason);
  if (feedback != Feedback::kEf21)
    keys.refuse({"feedback"}, "policy: none, which sends everything, so that nothing is fed back");
  if (gather != Gather::kPerLink)
    keys.refuse({"gather"}, "policy: none, which sends everything, so that all gathers are equal");
  if (one_point != Use::kChosen)
    keys.refuse({"one_point"},
                "policy: none, which sends everything, so that all points are equal");
  if (overlap != Use::kNever || look_ahead != Use::kNever)
    keys.refuse(
        {"look_ahead", "overlap"},
        "policy: none, whose nodes do not send the movements that they would look ahead by");
  if (local_steps.value_or(1) != 1)
    keys.refuse({"local_steps"},
                "policy: none, whose nodes send gradients; policy: fixed with feedback: ef14 "
                "sends movements");
}

void CompressionOptions::check_one_point(Keys& keys) {
  keys.check(one_point != Use::kNever || gather == Gather::kPerLink, "one_point",
             "one_point: false leaves owners at their exact shards, and gather: shared makes all "
             "copies of a shard equal, its owner's among them",
             "Write gather: per_link, or leave out one_point");
}

void CompressionOptions::check_local_steps(Keys& keys) {
  keys.check(local_steps.value_or(1) == 1 || sends_movements(), "local_steps",
             fmt::format("local_steps: {} sends what these steps move, and feedback: {} sends the "
                         "gradient of one",
                         local_steps.value_or(1), feedback == Feedback::kEf21 ? "ef21" : "none"),
             "Write feedback: ef14, or leave out local_steps");
}

void CompressionOptions::check_look_ahead(Keys& keys) {
  keys.check(look_ahead != Use::kAlways || looks_ahead() == Use::kAlways, "look_ahead",
             "look_ahead: true looks ahead by a node's movement, which only feedback: ef14 sends",
             "Write feedback: ef14, or leave out look_ahead");
  keys.check(overlap != Use::kAlways || looks_ahead() == Use::kAlways, "overlap",
             "overlap: true computes gradients before messages are there, and has to look ahead",
             "Write feedback: ef14 and look_ahead: true, or leave out overlap");
  if (policy->round_time_use() == RoundTimeUse::kChooses) return;
  const auto refuse_choice = [&](std::string_view name) {
    return keys.check(false, name,
                      fmt::format("{}: auto is chosen by the mesh, and policy: {} does not let it",
                                  name, policy->kind_name()),
                      fmt::format("Write {}: true or false, or policy: auto", name));
  };
  if (look_ahead == Use::kChosen) refuse_choice("look_ahead");
  if (overlap == Use::kChosen) refuse_choice("overlap");
}

CompressionOptions compression_options(const KeyTexts& keys) {
  CompressionOptions options;
  const Status set = set_keys([&](Keys& visitor) { options.describe(visitor); }, keys);
  KIMESH_CHECK(set.ok(), set.ok() ? "keys" : set.error().message);
  return options;
}

}  // namespace kimesh
