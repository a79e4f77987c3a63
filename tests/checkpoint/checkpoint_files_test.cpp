#include "kimesh/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kimesh/util/digest.h"
#include "tests/records/folder.h"

namespace kimesh::checkpoint_files_test {
namespace {

using testing::HasSubstr;

const CheckpointOwner kOwner{"0.1.0", "a", 11, 22};

std::vector<std::byte> state_of(std::size_t size) {
  std::vector<std::byte> state(size);
  for (std::size_t i = 0; i < size; ++i) state[i] = static_cast<std::byte>(3 * i);
  return state;
}

using Opened = Result<std::unique_ptr<StateSource>>;

std::string message(const Opened& result) {
  return result ? "no error" : result.error().message;
}

std::vector<std::byte> content(const Opened& state) {
  if (!state) return {};
  std::vector<std::byte> bytes((*state)->left());
  EXPECT_TRUE((*state)->read(bytes));
  return bytes;
}

void damage(const std::string& path) {
  std::string bytes = test::get(path);
  bytes.back() = static_cast<char>(bytes.back() + 1);
  test::put(path, bytes);
}

// Waits until the writer has the round on the disk.
void wait_for(CheckpointFiles& files, Round round) {
  for (;;) {
    const auto newest = files.newest();
    ASSERT_TRUE(newest.ok()) << newest.error().message;
    if (*newest == round) return;
    std::this_thread::yield();
  }
}

void save(CheckpointFiles& files, Round round) {
  std::vector<std::byte> memory = files.memory();
  memory = state_of(100 + round);
  files.keep({round}, std::move(memory));
  wait_for(files, round);
}

std::unique_ptr<CheckpointFiles> open(const test::Folder& folder, std::size_t keep = 2) {
  auto files = CheckpointFiles::open({folder / "checkpoints/a", kOwner, keep, {}});
  EXPECT_TRUE(files.ok()) << files.error().message;
  return std::move(*files);
}

TEST(CheckpointFile, GivesBackItsState) {
  const test::Folder folder;
  for (const std::size_t size : {0, 1, 1000, 3'000'001}) {
    ASSERT_TRUE(write_checkpoint(folder / "7.checkpoint", kOwner, 7, state_of(size)).ok());
    const auto read = open_checkpoint(folder / "7.checkpoint", kOwner, 7);
    ASSERT_TRUE(read.ok()) << message(read);
    EXPECT_TRUE(content(read) == state_of(size));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "7.checkpoint.tmp"));
}

// Every byte is under one of the two digests, or one of them. Seen to fail without each of these.
TEST(CheckpointFile, IsRefusedWithOneSentenceWhereAByteDiffers) {
  const test::Folder folder;
  const std::string path = folder / "7.checkpoint";
  ASSERT_TRUE(write_checkpoint(path, kOwner, 7, state_of(50)).ok());
  const std::string whole = test::get(path);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      test::put(path, damaged);
      const auto read = open_checkpoint(path, kOwner, 7);
      ASSERT_FALSE(read.ok()) << at;
      const bool is_format = at >= 8 && at < 12;  // which may be that of another version
      EXPECT_EQ(read.error().code, is_format ? ErrorCode::kUserInput : ErrorCode::kMalformed) << at;
      EXPECT_THAT(message(read), HasSubstr(path));
      EXPECT_EQ(test::get(path), damaged);
    }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::put(path, whole.substr(0, size));
    EXPECT_FALSE(open_checkpoint(path, kOwner, 7).ok()) << size;
  }
  test::put(path, whole + "x");
  EXPECT_FALSE(open_checkpoint(path, kOwner, 7).ok());
}

TEST(CheckpointFile, SaysWhatIsWrongWithAForeignOne) {
  const test::Folder folder;
  const std::string path = folder / "7.checkpoint";
  CheckpointOwner owner = kOwner;
  owner.lineage = 33;
  ASSERT_TRUE(write_checkpoint(path, owner, 7, state_of(50)).ok());
  const auto refusal = [&](const CheckpointOwner& of, Round round) {
    return message(open_checkpoint(path, of, round));
  };
  EXPECT_THAT(refusal({"0.2.0", "a", 11, 22}, 7),
              HasSubstr("is of kimesh 0.1.0, and this is 0.2.0"));
  EXPECT_THAT(refusal({"0.1.0", "b", 11, 22}, 7), HasSubstr("is of node a, and this is node b"));
  EXPECT_THAT(refusal({"0.1.0", "a", 12, 22}, 7), HasSubstr("another config"));
  EXPECT_THAT(refusal({"0.1.0", "a", 11, 23}, 7), HasSubstr("another topology"));
  EXPECT_THAT(refusal(kOwner, 8), HasSubstr("holds round 7"));
  EXPECT_THAT(refusal({"0.1.0", "a", 11, 22, 34}, 7),
              HasSubstr("is of another run than those of other nodes, or of the same one that went "
                        "on in another way"));
  EXPECT_EQ(lineage_of_checkpoint(path).value(), 33u);
  test::put(path, "no checkpoint at all");
  EXPECT_THAT(refusal(kOwner, 7), HasSubstr("is no checkpoint of kimesh"));
  std::filesystem::remove(path);
  EXPECT_THAT(refusal(kOwner, 7), HasSubstr("cannot be read"));
}

// Another node may lack them: all go on from the newest that all hold. Seen to fail where the later
// ones stayed, and counted as the newest.
TEST(CheckpointFiles, OfRoundsAfterTheOneThatIsGoneOnWithAreVoid) {
  const test::Folder folder;
  {
    const auto files = open(folder, 9);
    for (const Round round : {9u, 19u, 29u}) save(*files, round);
  }
  const auto files = open(folder, 9);
  EXPECT_EQ(files->newest().value(), 29u);
  ASSERT_TRUE(files->load({9}).ok());
  EXPECT_EQ(checkpoint_rounds(folder / "checkpoints/a"), (std::vector<Round>{9}));
  EXPECT_EQ(files->newest().value(), 9u);
}

// Seen to fail where the end of a run did not ask.
TEST(CheckpointFiles, TellOfTheLastOneThatCannotBeWritten) {
  const test::Folder folder;
  const auto files = open(folder);
  std::filesystem::remove_all(folder / "checkpoints/a");
  files->keep({9}, files->memory());
  EXPECT_FALSE(files->finish().ok());
}

TEST(CheckpointFiles, KeepTheNewestAndThoseThatANodeMayStillNeed) {
  const test::Folder folder;
  const std::string path = folder / "checkpoints/a";
  {
    const auto files = open(folder);
    for (const Round round : {9u, 19u, 29u}) save(*files, round);
  }
  EXPECT_EQ(checkpoint_rounds(path), (std::vector<Round>{9, 19, 29}));  // nobody said what all hold
  {
    const auto files = open(folder);
    EXPECT_EQ(*files->newest(), Round{29});
    files->all_hold(19);
    save(*files, 39);
  }
  EXPECT_EQ(checkpoint_rounds(path), (std::vector<Round>{19, 29, 39}));
  {
    const auto files = open(folder);
    files->all_hold(39);
  }
  EXPECT_EQ(checkpoint_rounds(path), (std::vector<Round>{29, 39}));
}

TEST(CheckpointFiles, AreOpenedAfterAWriterThatWasKilled) {
  const test::Folder folder;
  save(*open(folder), 9);
  test::put(folder / "checkpoints/a/19.checkpoint.tmp", "half of it");
  test::put(folder / "checkpoints/a/notes.checkpoint", "of the user");
  const auto files = open(folder);
  EXPECT_EQ(*files->newest(), Round{9});
  EXPECT_TRUE(content(files->load({9})) == state_of(109));
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints/a/19.checkpoint.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder / "checkpoints/a/notes.checkpoint"));
}

// Seen to fail where the damaged one was removed with those of void rounds.
TEST(CheckpointFiles, GoOnFromAnOlderOneWhereTheNewestIsDamagedAndKeepThat) {
  const test::Folder folder;
  const std::string in = folder / "checkpoints/a";
  {
    const auto files = open(folder, 9);
    for (const Round round : {9u, 19u, 29u, 39u}) save(*files, round);
  }
  damage(checkpoint_path(in, 29));
  damage(checkpoint_path(in, 39));
  const std::string bytes = test::get(checkpoint_path(in, 29));
  const auto files = open(folder, 9);
  EXPECT_EQ(*files->newest(), Round{19});
  EXPECT_EQ(files->damaged(), (std::vector<Round>{29, 39}));
  EXPECT_EQ(test::get(checkpoint_path(in, 29)), bytes);
  EXPECT_TRUE(content(files->load({19})) == state_of(119));
  EXPECT_EQ(checkpoint_rounds(in), (std::vector<Round>{9, 19}));
  EXPECT_EQ(test::get(checkpoint_path(in, 29) + ".damaged"), bytes);
  save(*files, 29);
  EXPECT_TRUE(content(files->load({29})) == state_of(129));
}

// Seen to fail: all of them kept.
TEST(CheckpointFiles, ThatWereSetAsideTakeNoMoreThanTwoOfEachKind) {
  const test::Folder folder;
  const std::string in = folder / "checkpoints/a";
  // The files of a test may be written within one tick of the file system's clock.
  const auto date = [](const std::string& path, Round round) {
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(path, now - std::chrono::hours(100 - round));
  };
  for (const Round round : {9u, 19u, 29u, 39u}) {
    const auto files = open(folder, 9);
    save(*files, round);
    ASSERT_TRUE(files->set_aside().ok());
    date(checkpoint_path(in, round) + ".alone", round);
  }
  for (const Round round : {9u, 19u, 29u, 39u}) {
    const std::string path = checkpoint_path(in, round);
    EXPECT_EQ(std::filesystem::exists(path + ".alone"), round >= 29) << round;
    save(*open(folder, 9), round);
    damage(path);
    date(path, round);
  }
  ASSERT_TRUE(open(folder, 9)->set_aside().ok());
  for (const Round round : {9u, 19u, 29u, 39u})
    EXPECT_EQ(std::filesystem::exists(checkpoint_path(in, round) + ".damaged"), round >= 29)
        << round;
  EXPECT_TRUE(checkpoint_rounds(in).empty());
}

TEST(CheckpointFiles, OfSeveralNodesHaveARoundInCommonThatIsSoundAtAll) {
  const test::Folder folder;
  std::vector<CheckpointPlace> places;
  const auto make = [&](const std::string& node, const std::vector<Round>& rounds) {
    const CheckpointOwner owner{"0.1.0", node, 11, 22};
    places.push_back({folder / node, owner});
    std::filesystem::create_directories(places.back().folder);
    for (const Round round : rounds)
      ASSERT_TRUE(
          write_checkpoint(checkpoint_path(folder / node, round), owner, round, state_of(50)).ok());
  };
  make("a", {9, 19, 29});
  make("b", {9, 19});
  EXPECT_EQ(*common_checkpoint(places), Round{19});
  EXPECT_EQ(*oldest_common_checkpoint(places, 0), Round{9});
  EXPECT_EQ(*oldest_common_checkpoint(places, 10), Round{19});
  damage(checkpoint_path(places[0].folder, 19));
  EXPECT_EQ(*common_checkpoint(places), Round{9});
  make("c", {29});
  EXPECT_EQ(*common_checkpoint(places), std::nullopt);
  places.back().owner.config_digest = 12;
  make("d", {29});
  places.erase(places.begin() + 1);
  EXPECT_FALSE(common_checkpoint(places).ok());
}

// Two folders of runs of one config, or of one run that two machines went on with. Seen to fail
// without the comparison.
TEST(CheckpointFiles, OfDifferentRunsAreToldApart) {
  const test::Folder folder;
  std::vector<CheckpointPlace> places;
  for (const std::string node : {"a", "b"}) {
    places.push_back({folder / node, {"0.1.0", node, 11, 22}});
    std::filesystem::create_directories(places.back().folder);
    for (const Round round : {9u, 19u}) {
      CheckpointOwner owner = places.back().owner;
      owner.lineage = round == 9 ? 5 : node == "a" ? 6 : 7;
      ASSERT_TRUE(
          write_checkpoint(checkpoint_path(folder / node, round), owner, round, state_of(50)).ok());
    }
  }
  const auto common = common_checkpoint(places);
  ASSERT_FALSE(common.ok());
  EXPECT_EQ(common.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(common.error().message,
              HasSubstr("a/19.checkpoint and " + (folder / "b/19.checkpoint") +
                        " are of different runs, or of one run that went on in two ways"));
  std::filesystem::remove(checkpoint_path(folder / "b", 19));
  EXPECT_EQ(*common_checkpoint(places), Round{9}) << "what they have in common";
}

// Each of its checkpoints says in which run it was made, and it loads none of another.
TEST(CheckpointFiles, HoldTheLineageWithWhichTheyAreSaved) {
  const test::Folder folder;
  {
    const auto files = open(folder, 9);
    for (const Round round : {9u, 19u}) {
      files->keep({round, round + 100}, files->memory());
      wait_for(*files, round);
    }
    EXPECT_EQ(files->lineage(), 0u) << "there was none when it was opened";
  }
  const auto files = open(folder, 9);
  EXPECT_EQ(files->lineage(), 119u);
  EXPECT_THAT(message(files->load({9, 119})), HasSubstr("is of another run"));
  EXPECT_EQ(checkpoint_rounds(folder / "checkpoints/a"), (std::vector<Round>{9, 19}))
      << "nothing is touched";
  EXPECT_TRUE(files->load({9, 109}).ok());
}

// What is read of a state beside what it fills.
TEST(CheckpointFiles, AreReadInPieces) {
  const test::Folder folder;
  const std::size_t size = std::size_t{64} << 20;
  const pid_t writer = ::fork();  // whose memory does not count
  if (writer == 0)
    ::_exit(write_checkpoint(folder / "7.checkpoint", kOwner, 7, state_of(size)).ok() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_EQ(status, 0);
  const auto peak = [] {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  std::vector<std::byte> target(1 << 20);
  const long before = peak();
  const auto state = open_checkpoint(folder / "7.checkpoint", kOwner, 7);
  ASSERT_TRUE(state.ok());
  while ((*state)->left() >= target.size()) ASSERT_TRUE((*state)->read(target));
  EXPECT_LT(peak() - before, 16 << 10);
}

TEST(CheckpointFiles, SayWhenTheDiskFails) {
  const test::Folder folder;
  const auto files = open(folder);
  std::filesystem::remove_all(folder / "checkpoints");
  static_cast<void>(files->memory());
  files->keep({9}, state_of(10));
  for (;;) {
    const auto newest = files->newest();
    if (newest.ok()) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ(newest.error().code, ErrorCode::kIo);
    break;
  }
  EXPECT_EQ(files->memory().size(), 10u);  // nobody waits for room for ever
}

}  // namespace
}  // namespace kimesh::checkpoint_files_test
