// Trains with a codec of this program's own: each float becomes one byte, its sign and the power of
// two below it. All nodes run in this process, joined by sockets.
#include <kimesh/compress/codecs.h>
#include <kimesh/mesh/mesh.h>
#include <kimesh/objective/quadratic.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kimesh;

constexpr Form kPowersForm{128};  // 128 to 255 are for programs; all nodes must know the same
constexpr int kLeast = -100, kLargest = kLeast + 126;

// A payload is a byte for each element: 0 for 0, else 1 + exponent - kLeast, and 128 for a minus.
Result<Content> decode(std::span<const std::byte> payload, std::size_t size) {
  if (payload.size() != size) return malformed("a message of powers has another length");
  kernels::Entries entries;
  entries.resize(size);
  for (std::uint32_t j = 0; j < size; ++j) {
    const auto code = std::to_integer<int>(payload[j]);
    const float power = code % 128 == 0 ? 0 : std::ldexp(1.f, code % 128 - 1 + kLeast);
    entries.indices[j] = j;
    entries.values[j] = code < 128 ? power : -power;
  }
  return Content{AddEntries{std::move(entries)}};
}

class Powers : public HostCodec {
 public:
  // What is sent is never larger than what there was to send, so that chains of nodes may add it up.
  CodecTraits traits() const override { return {.conservative = true}; }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{kPowersForm, "powers", decode}};
    return kForms;
  }
  std::size_t bytes_max(std::size_t, std::size_t size) const override { return size; }

  Form encode(std::span<const float> difference, const Setting&,
              std::vector<std::byte>& bytes) const override {
    for (const float value : difference) {
      const int exponent = value == 0 ? kLeast - 1 : std::min(std::ilogb(value), kLargest);
      const int code = std::max(exponent - kLeast + 1, 0);
      bytes.push_back(static_cast<std::byte>(value < 0 ? code + 128 : code));
    }
    return kPowersForm;
  }
};

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: own_codec CONFIG TOPOLOGY"), 2;
  add_codec({"powers", "a sign and a power of two, a byte each", make_options<Powers, Codec>});
  auto files = load_mesh_files(argv[1], argv[2]);
  for (const Problem& problem : files.problems) std::puts(to_string(problem).c_str());
  if (!files.ok()) return 2;
  const RunConfig& config = files.value.config;
  auto objective =
      make_quadratic_mesh(*config.quadratic, files.value.topology.nodes.size(), {}, config.seed);
  if (!objective) return std::puts(objective.error().message.c_str()), 2;
  const auto mesh = Mesh::make(std::move(files.value), std::move(*objective));
  if (!mesh) return std::puts(mesh.error().message.c_str()), 2;
  const auto end = (*mesh)->run_here({});
  if (!end) return std::puts(end.error().message.c_str()), 1;
  std::printf("squared norm of the gradient: %.2g\n", end->run.gradient_norm_squared.value());
  return end->run.outcome == Outcome::kDone ? 0 : 1;
}
