#include "check_model.h"

#include <algorithm>
#include <string>

namespace kimesh {
namespace {

// Below it most convolutions of a vgg or resnet would look at a single pixel and its padding.
constexpr std::int64_t kDeepSideMin = 8;
constexpr std::int64_t kVggSideMin = 16;

std::string size_text(std::int64_t height, std::int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width) + " pixels";
}

Error wrong(std::string sentence) {
  return {ErrorCode::kUserInput, std::move(sentence)};
}

// A cnn halves its images at each stage; what is left must hold a pixel.
Status check_cnn(const ModelConfig& model, std::int64_t side) {
  std::size_t halvings = 0;
  for (; side > 1; side /= 2) ++halvings;
  if (model.channels.size() <= halvings) return ok_status();
  if (halvings == 0)
    return wrong(
        "model.kind is cnn, but the data holds rows of numbers, not images; write "
        "kind: mlp");
  return wrong("model.channels names " + std::to_string(model.channels.size()) +
               " stages, but the images can be halved only " + std::to_string(halvings) +
               " times; write at most " + std::to_string(halvings) + " numbers");
}

}  // namespace

Status check_model(const ModelConfig& model, const SampleShape& shape) {
  const bool tokens = shape.kind == SampleShape::Kind::kTokens;
  if (reads_tokens(model.kind) && !tokens)
    return wrong(
        "model.kind is for text, but the data holds images or features; write kind: mlp, cnn, "
        "resnet or vgg, or data: {kind: text}");
  if (!reads_tokens(model.kind) && tokens)
    return wrong(
        "model.kind is for images and features, but the data is text; write kind: lstm or "
        "transformer");
  const std::int64_t side = std::min(shape.height, shape.width);
  if (model.kind == ModelKind::kCnn)
    if (const Status status = check_cnn(model, side); !status.ok()) return status;
  const bool vgg = model.kind == ModelKind::kVgg;
  const std::int64_t wanted = vgg ? kVggSideMin : kDeepSideMin;
  if ((vgg || model.kind == ModelKind::kResnet) && side < wanted)
    return wrong("the images have " + size_text(shape.height, shape.width) + ", but a " +
                 (vgg ? "vgg" : "resnet") + " wants " + size_text(wanted, wanted) +
                 " at least; write kind: " + (vgg ? "resnet or cnn" : "cnn or mlp"));
  return check_prefixes(model, shape);
}

}  // namespace kimesh
