#include "kimesh/checkpoint/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "kimesh/records/text_file.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {
namespace {

constexpr std::string_view kMagic = "kimeshCP";
constexpr std::string_view kSuffix = ".checkpoint";
constexpr std::size_t kDigestBytes = sizeof(std::uint64_t);
constexpr const char* kDamaged =
    "is damaged; move it away, on all nodes, to go on from an older one";

struct Head {
  std::uint32_t format = kCheckpointFormat;
  std::string version, node;
  Round round = 0;
  std::uint64_t config = 0, topology = 0, size = 0;
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.format, self.version, self.node, self.round, self.config, self.topology,
                    self.size);
  }
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Error refuse(const std::string& path, const std::string& why) {
  return {ErrorCode::kUserInput, path + " " + why};
}

std::uint64_t number_in(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  StateReader(bytes).get(number);
  return number;
}

// Why the node cannot go on from a whole file with this head; nothing: it can.
std::optional<std::string> misfit(const Head& head, const CheckpointOwner& owner, Round round) {
  if (head.version != owner.version)
    return fmt::format("is of kimesh {}, and this is {}: go on with that version", head.version,
                       owner.version);
  if (head.node != owner.node)
    return fmt::format("is of node {}, and this is node {}", head.node, owner.node);
  if (head.config != owner.config_digest)
    return "was written with another config: go on with the run's own, or begin a new run";
  if (head.topology != owner.topology_digest)
    return "was written with another topology: go on with the run's own, or begin a new run";
  if (head.round != round)
    return fmt::format("holds round {}, which is not that of its name: move it away", head.round);
  return std::nullopt;
}

}  // namespace

Status write_checkpoint(const std::string& path, const CheckpointOwner& owner, Round round,
                        std::span<const std::byte> state) {
  std::vector<std::byte> before, behind;
  {
    StateWriter writer(before);
    writer.bytes(bytes_of(kMagic));
    writer.put(Head{kCheckpointFormat, owner.version, owner.node, round, owner.config_digest,
                    owner.topology_digest, state.size()});
  }
  const std::uint64_t of_head = digest_bytes(before), of_state = digest_bytes(state);
  for (std::size_t i = 0; i < kDigestBytes; ++i) {
    before.push_back(static_cast<std::byte>(of_head >> (8 * i)));
    behind.push_back(static_cast<std::byte>(of_state >> (8 * i)));
  }
  return write_durably(path, std::array<std::span<const std::byte>, 3>{before, state, behind});
}

Result<std::vector<std::byte>> read_checkpoint(const std::string& path,
                                               const CheckpointOwner& owner, Round round) {
  const auto text = read_whole(path, kCheckpointBytesMax);
  if (!text) return Error{ErrorCode::kUserInput, text.error().message};
  const std::span<const std::byte> file = bytes_of(*text);
  if (!text->starts_with(kMagic)) return refuse(path, "is no checkpoint of kimesh");
  const std::span<const std::byte> after_magic = file.subspan(kMagic.size());
  std::uint32_t format = 0;
  StateReader(after_magic).get(format);
  if (format != kCheckpointFormat)
    return refuse(path,
                  fmt::format("has the format {}, and this kimesh reads {}: it is damaged, or "
                              "of another version",
                              format, kCheckpointFormat));
  Head head;
  StateReader reader(after_magic);
  reader.get(head);
  const std::size_t head_bytes = file.size() - reader.left();
  const std::span<const std::byte> head_digest = reader.bytes(kDigestBytes);
  const std::span<const std::byte> state = reader.bytes(static_cast<std::size_t>(head.size));
  const std::span<const std::byte> state_digest = reader.bytes(kDigestBytes);
  if (!reader.finish() || digest_bytes(file.first(head_bytes)) != number_in(head_digest))
    return refuse(path, kDamaged);
  if (const auto why = misfit(head, owner, round)) return refuse(path, *why);
  if (digest_bytes(state) != number_in(state_digest)) return refuse(path, kDamaged);
  return std::vector<std::byte>(state.begin(), state.end());
}

std::string checkpoint_path(const std::string& folder, Round round) {
  return fmt::format("{}/{}{}", folder, round, kSuffix);
}

std::vector<Round> checkpoint_rounds(const std::string& folder) {
  std::vector<Round> rounds;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    Round round = 0;
    const char* const digits_end = name.data() + name.size() - kSuffix.size();
    const auto [stopped, wrong] = std::from_chars(name.data(), digits_end, round);
    if (wrong == std::errc{} && stopped == digits_end) rounds.push_back(round);
  }
  std::ranges::sort(rounds);
  return rounds;
}

Result<std::optional<Round>> newest_checkpoint(const std::string& folder,
                                               const CheckpointOwner& owner) {
  const std::vector<Round> rounds = checkpoint_rounds(folder);
  if (rounds.empty()) return std::optional<Round>();
  const auto state = read_checkpoint(checkpoint_path(folder, rounds.back()), owner, rounds.back());
  if (!state) return state.error();
  return std::optional(rounds.back());
}

}  // namespace kimesh
