#include "kimesh/checkpoint/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kimesh/records/durable_file.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {
namespace {

constexpr std::string_view kMagic = "kimeshCP";
constexpr std::string_view kSuffix = ".checkpoint";
constexpr std::size_t kDigestBytes = sizeof(std::uint64_t);
// More than any head takes: two names and seven numbers.
constexpr std::size_t kHeadBytesMax = 4096;

struct Head {
  std::uint32_t format = kCheckpointFormat;
  std::string version, node;
  Round round = 0;
  std::uint64_t lineage = 0, config = 0, topology = 0, size = 0;
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.format, self.version, self.node, self.round, self.lineage, self.config,
                    self.topology, self.size);
  }
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Error refuse(const std::string& path, const std::string& why) {
  return {ErrorCode::kUserInput, path + " " + why};
}

Error damaged(const std::string& path) {
  return {ErrorCode::kMalformed, path + " is damaged"};
}

void add_number(std::uint64_t number, std::vector<std::byte>& out) {
  for (std::size_t i = 0; i < kDigestBytes; ++i)
    out.push_back(static_cast<std::byte>(number >> (8 * i)));
}

struct HeadOfFile {
  Head head;
  std::size_t bytes = 0;  // with its magic and its digest
};

// Errors: as open_checkpoint.
Result<HeadOfFile> head_in(std::span<const std::byte> file, const std::string& path) {
  const auto magic = bytes_of(kMagic);
  if (file.size() < magic.size() || !std::ranges::equal(file.first(magic.size()), magic))
    return Error{ErrorCode::kMalformed, path + " is no checkpoint of kimesh, or damaged"};
  const std::span<const std::byte> after_magic = file.subspan(magic.size());
  std::uint32_t format = 0;
  StateReader(after_magic).get(format);
  if (format != kCheckpointFormat)
    return refuse(path,
                  fmt::format("has the format {}, and this kimesh reads {}: it is damaged, or "
                              "of another version, with which the run can go on",
                              format, kCheckpointFormat));
  HeadOfFile found;
  StateReader reader(after_magic);
  reader.get(found.head);
  const std::size_t digested = file.size() - reader.left();
  std::uint64_t digest = 0;
  reader.get(digest);
  found.bytes = digested + kDigestBytes;
  if (!reader.ok() || digest_bytes(file.first(digested)) != digest) return damaged(path);
  return found;
}

// Whether the next `size` bytes are followed by their digest.
Status look_through(PieceReader& file, std::uint64_t size) {
  std::vector<std::byte> piece(kFilePieceBytes);
  PiecewiseDigest digest;
  for (std::uint64_t left = size; left > 0;) {
    const auto bytes = std::span(piece).first(std::min<std::uint64_t>(left, kFilePieceBytes));
    if (Status read = file.read(bytes); !read) return read;
    digest.add(bytes);
    left -= bytes.size();
  }
  std::vector<std::byte> end(kDigestBytes), wanted;
  if (Status read = file.read(end); !read) return read;
  add_number(digest.value(), wanted);
  return end == wanted ? ok_status() : Status(Error{ErrorCode::kMalformed, "another digest"});
}

class StateInFile final : public StateSource {
 public:
  StateInFile(PieceReader file, std::size_t size) : file_(std::move(file)), left_(size) {}
  [[nodiscard]] std::size_t left() const override { return left_; }
  [[nodiscard]] bool read(std::span<std::byte> to) override {
    left_ -= to.size();
    return file_.read(to).ok();
  }

 private:
  PieceReader file_;
  std::size_t left_;
};

Result<PieceReader> open_file(const std::string& path) {
  auto opened = PieceReader::open(path);
  if (opened) return opened;
  // A file that this user may not read is no damaged one.
  std::error_code code;
  if (std::filesystem::is_regular_file(path, code)) return opened.error();
  return damaged(opened.error().message);
}

// The head of a file that has just been opened. Errors: as open_checkpoint.
Result<HeadOfFile> read_head(PieceReader& file, const std::string& path) {
  std::vector<std::byte> first(std::min(file.left(), kHeadBytesMax));
  if (!file.read(first)) return damaged(path + " cannot be read");
  return head_in(first, path);
}

// False: it is damaged. Errors: UserInput and Io, as open_checkpoint.
Result<bool> looks_sound(const std::string& path, const CheckpointOwner& owner, Round round) {
  const auto state = open_checkpoint(path, owner, round);
  if (state) return true;
  if (state.error().code == ErrorCode::kMalformed) return false;
  return state.error();
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
    return "was written with another topology: go on with the run's own, or make checkpoints for "
           "this one with `kimesh join RUN... --topology FILE`";
  if (head.round != round)
    return fmt::format("holds round {}, which is not that of its name: move it away", head.round);
  if (owner.lineage != 0 && head.lineage != owner.lineage)
    return "is of another run than those of other nodes, or of the same one that went on in "
           "another way: bring together those of one";
  return std::nullopt;
}

}  // namespace

Status write_checkpoint(const std::string& path, const CheckpointOwner& owner, Round round,
                        std::span<const std::byte> state) {
  std::vector<std::byte> head;
  {
    StateWriter writer(head);
    writer.bytes(bytes_of(kMagic));
    writer.put(Head{kCheckpointFormat, owner.version, owner.node, round, owner.lineage,
                    owner.config_digest, owner.topology_digest, state.size()});
  }
  add_number(digest_bytes(head), head);
  auto file = DurableFile::create(path);
  if (!file) return file.error();
  if (Status written = file->append(head); !written) return written;
  PiecewiseDigest digest;
  while (!state.empty()) {  // a piece at a time, while it is in the cache
    const auto piece = state.first(std::min(state.size(), kFilePieceBytes));
    digest.add(piece);
    if (Status written = file->append(piece); !written) return written;
    state = state.subspan(piece.size());
  }
  std::vector<std::byte> end;
  add_number(digest.value(), end);
  if (Status written = file->append(end); !written) return written;
  return file->commit();
}

Result<std::unique_ptr<StateSource>> open_checkpoint(const std::string& path,
                                                     const CheckpointOwner& owner, Round round) {
  auto opened = open_file(path);
  if (!opened) return opened.error();
  PieceReader& file = *opened;
  const std::size_t size = file.left();
  const auto head = read_head(file, path);
  if (!head) return head.error();
  const std::size_t rest = size - head->bytes;
  if (rest < kDigestBytes || head->head.size != rest - kDigestBytes) return damaged(path);
  if (const auto why = misfit(head->head, owner, round)) return refuse(path, *why);
  file.go_to(head->bytes);
  if (const Status sound = look_through(file, head->head.size); !sound) return damaged(path);
  file.go_to(head->bytes);
  return std::unique_ptr<StateSource>(
      new StateInFile(std::move(file), static_cast<std::size_t>(head->head.size)));
}

Result<std::uint64_t> lineage_of_checkpoint(const std::string& path) {
  auto file = open_file(path);
  if (!file) return file.error();
  const auto head = read_head(*file, path);
  if (!head) return head.error();
  return head->head.lineage;
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

Result<SoundCheckpoint> newest_checkpoint(const std::string& folder, const CheckpointOwner& owner) {
  SoundCheckpoint found;
  std::vector<Round> rounds = checkpoint_rounds(folder);
  for (; !rounds.empty(); rounds.pop_back()) {
    const auto is_sound = looks_sound(checkpoint_path(folder, rounds.back()), owner, rounds.back());
    if (!is_sound) return is_sound.error();
    if (*is_sound) {
      const auto lineage = lineage_of_checkpoint(checkpoint_path(folder, rounds.back()));
      if (!lineage) return lineage.error();
      found.newest = rounds.back();
      found.lineage = *lineage;
      break;
    }
    found.damaged.insert(found.damaged.begin(), rounds.back());
  }
  return found;
}

namespace {

// Rounds of which every folder has a file, ascending.
std::vector<Round> common_rounds(const std::vector<CheckpointPlace>& places) {
  std::vector<Round> common;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::vector<Round> here = checkpoint_rounds(places[i].folder);
    if (i == 0) common = here;
    std::erase_if(common, [&](Round round) { return !std::ranges::binary_search(here, round); });
  }
  return common;
}

Status check_same_lineage(Round round, const std::vector<CheckpointPlace>& places) {
  std::optional<std::uint64_t> first;
  for (const CheckpointPlace& place : places) {
    const auto lineage = lineage_of_checkpoint(checkpoint_path(place.folder, round));
    if (!lineage) return lineage.error();
    if (first.value_or(*lineage) != *lineage)
      return Error{ErrorCode::kUserInput,
                   fmt::format("{} and {} are of different runs, or of one run that went on in two "
                               "ways: bring together those of one",
                               checkpoint_path(places.front().folder, round),
                               checkpoint_path(place.folder, round))};
    first = *lineage;
  }
  return ok_status();
}

// The first of these rounds of which every folder holds a sound file.
Result<std::optional<Round>> first_sound(const std::vector<Round>& rounds,
                                         const std::vector<CheckpointPlace>& places) {
  for (const Round round : rounds) {
    bool all = true;
    for (const CheckpointPlace& place : places) {
      const auto is_sound = looks_sound(checkpoint_path(place.folder, round), place.owner, round);
      if (!is_sound) return is_sound.error();
      all = all && *is_sound;
    }
    if (!all) continue;
    if (const Status same = check_same_lineage(round, places); !same) return same.error();
    return std::optional(round);
  }
  return std::optional<Round>();
}

}  // namespace

Result<std::optional<Round>> common_checkpoint(const std::vector<CheckpointPlace>& places) {
  std::vector<Round> rounds = common_rounds(places);
  std::ranges::reverse(rounds);
  return first_sound(rounds, places);
}

Result<std::optional<Round>> oldest_common_checkpoint(const std::vector<CheckpointPlace>& places,
                                                      Round least) {
  std::vector<Round> rounds = common_rounds(places);
  std::erase_if(rounds, [&](Round round) { return round < least; });
  return first_sound(rounds, places);
}

}  // namespace kimesh
