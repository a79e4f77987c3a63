#include "kimesh/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kimesh/records/text_file.h"

namespace kimesh {
namespace {

// A state and a few words on which may go; what has no room waits for the next word.
constexpr std::size_t kJobsMax = 4;
// The engine looks ten times a second, and a checkpoint waits for the one before.
constexpr std::size_t kWrittenMax = 16;

constexpr const char* kDamagedSuffix = ".damaged";
constexpr const char* kAloneSuffix = ".alone";  // no other node may go on from such a one
// Of each of the two kinds so many are kept: each is as large as the node's state, and a machine
// whose disk fails, or that is killed again and again before its first checkpoint, makes more.
constexpr std::size_t kSetAsideMax = 2;

// Renames the checkpoint, and removes those that were set aside before so many others.
Status rename_aside(const std::string& folder, Round round, const char* suffix) {
  const std::string path = checkpoint_path(folder, round);
  std::error_code code;
  std::filesystem::rename(path, path + suffix, code);
  if (code) return Error{ErrorCode::kIo, path + " cannot be renamed: " + code.message()};
  // Renaming leaves the time at which the file was written.
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> kept;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (entry->path().extension() == suffix)
      kept.emplace_back(entry->last_write_time(ignored), entry->path());
  }
  std::ranges::sort(kept);
  for (std::size_t i = 0; i + kSetAsideMax < kept.size(); ++i) {
    std::error_code ignored;  // it is tried again with the next one
    std::filesystem::remove(kept[i].second, ignored);
  }
  return ok_status();
}

// A name that is no checkpoint's, as a writer leaves it that was killed.
void remove_unfinished(const std::string& folder) {
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (entry->path().extension() == ".tmp") std::filesystem::remove(entry->path(), ignored);
  }
}

}  // namespace

Result<std::unique_ptr<CheckpointFiles>> CheckpointFiles::open(CheckpointFolder folder) {
  std::error_code code;
  std::filesystem::create_directories(folder.path, code);
  if (code) return Error{ErrorCode::kIo, folder.path + " cannot be made: " + code.message()};
  // The names of new folders are of those that hold them.
  const auto parent = std::filesystem::path(folder.path).parent_path();
  for (const auto& holder : {parent, parent.parent_path()})
    if (const Status synced = sync_file(holder.string()); !synced) return synced.error();
  auto found = newest_checkpoint(folder.path, folder.owner);
  if (!found) return found.error();
  remove_unfinished(folder.path);
  return std::unique_ptr<CheckpointFiles>(
      new CheckpointFiles(std::move(folder), std::move(*found)));
}

CheckpointFiles::CheckpointFiles(CheckpointFolder folder, SoundCheckpoint found)
    : folder_(std::move(folder)),
      damaged_(std::move(found.damaged)),
      lineage_(found.lineage),
      newest_(found.newest),
      jobs_(kJobsMax),
      spare_(1),
      written_(kWrittenMax),
      thread_([this] { run(); }) {
  static_cast<void>(spare_.try_push({}));
}

CheckpointFiles::~CheckpointFiles() {
  static_cast<void>(finish());
}

std::vector<std::byte> CheckpointFiles::memory() {
  auto spare = spare_.pop();
  return spare ? std::move(*spare) : std::vector<std::byte>();
}

void CheckpointFiles::keep(StateId id, std::vector<std::byte> state) {
  // Vector work that hung until the end may come after it: nothing is kept any more.
  static_cast<void>(jobs_.push(Write{id, std::move(state)}));
}

Result<std::unique_ptr<StateSource>> CheckpointFiles::load(StateId id) {
  auto state = open_checkpoint(checkpoint_path(folder_.path, id.round), owner_in(id), id.round);
  if (!state) return state;
  if (const Status removed = remove_later_than(id.round); !removed) return removed.error();
  static_cast<void>(written_.try_push(id.round));
  return state;
}

// What follows the round with which the run goes on belongs to a past that is void now. Its next
// rounds would have the same names.
Status CheckpointFiles::remove_later_than(Round round) const {
  for (const Round later : checkpoint_rounds(folder_.path)) {
    if (later <= round) continue;
    if (std::ranges::binary_search(damaged_, later)) {
      if (const Status aside = rename_aside(folder_.path, later, kDamagedSuffix); !aside)
        return aside;
      continue;
    }
    const std::string path = checkpoint_path(folder_.path, later);
    std::error_code code;
    std::filesystem::remove(path, code);
    if (code) return Error{ErrorCode::kIo, path + " cannot be removed: " + code.message()};
  }
  return sync_file(folder_.path);
}

Status CheckpointFiles::set_aside() {
  for (const Round round : checkpoint_rounds(folder_.path)) {
    const bool is_damaged = std::ranges::binary_search(damaged_, round);
    const char* const suffix = is_damaged ? kDamagedSuffix : kAloneSuffix;
    if (const Status aside = rename_aside(folder_.path, round, suffix); !aside) return aside;
  }
  static_cast<void>(written_.try_push(kNoRound));
  return sync_file(folder_.path);
}

Status CheckpointFiles::finish() {
  jobs_.close();
  if (thread_.joinable()) thread_.join();
  const auto last = newest();
  return last ? ok_status() : Status(last.error());
}

Result<std::optional<Round>> CheckpointFiles::newest() {
  while (auto written = written_.try_pop()) {
    if (!*written)
      failed_ = written->error();
    else if (**written == kNoRound)
      newest_.reset();
    else
      newest_ = **written;
  }
  if (const auto thrown = thrown_.text(); thrown && !failed_)
    failed_ = Error{ErrorCode::kIo, *thrown};
  if (failed_) return *failed_;
  return newest_;
}

void CheckpointFiles::all_hold(Round round) {
  static_cast<void>(jobs_.try_push(Tidy{round}));
}

void CheckpointFiles::run() {
  while (auto job = jobs_.pop())
    if (thrown_.is_empty() && !thrown_.guard("writing a checkpoint", [&] { carry_out(*job); }))
      spare_.close();  // nobody waits for the memory of the state that was to be written
}

void CheckpointFiles::carry_out(std::variant<Write, Tidy>& job) {
  if (const auto* word = std::get_if<Tidy>(&job)) {
    common_ = std::max(common_.value_or(0), word->common);
  } else {
    auto& state = std::get<Write>(job);
    const Status done = write(state);
    static_cast<void>(
        written_.try_push(done ? Result<Round>(state.id.round) : Result<Round>(done.error())));
    static_cast<void>(spare_.try_push(std::move(state.state)));
  }
  tidy();
}

Status CheckpointFiles::write(const Write& job) const {
  for (const std::string& log : folder_.logs)
    if (Status there = sync_file(log); !there) return there;
  return write_checkpoint(checkpoint_path(folder_.path, job.id.round), owner_in(job.id),
                          job.id.round, job.state);
}

CheckpointOwner CheckpointFiles::owner_in(StateId id) const {
  CheckpointOwner owner = folder_.owner;
  owner.lineage = id.lineage;
  return owner;
}

// A checkpoint may go once all nodes hold a newer one.
void CheckpointFiles::tidy() const {
  if (!common_) return;
  const std::vector<Round> rounds = checkpoint_rounds(folder_.path);
  for (std::size_t i = 0; i + folder_.keep < rounds.size(); ++i) {
    std::error_code ignored;  // it is tried again after the next one
    if (rounds[i] < *common_)
      std::filesystem::remove(checkpoint_path(folder_.path, rounds[i]), ignored);
  }
}

}  // namespace kimesh
