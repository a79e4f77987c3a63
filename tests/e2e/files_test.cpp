// What is shipped works as it is written: files and the commands of the front page.
#include "tests/e2e/program.h"

namespace kimesh::test::files_test {
namespace {

std::vector<std::string> shipped(const Scratch& scratch, const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path() + "/" + folder))
    if (entry.path().extension() == ".yaml")
      files.push_back(folder + "/" + entry.path().filename().string());
  return files;
}

// Users download the data of some configs; empty files stand for it: `check` looks at names only.
void put_data(const Scratch& scratch) {
  for (const char* name :
       {"tinyshakespeare.txt", "mnist/train-images-idx3-ubyte", "mnist/train-labels-idx1-ubyte",
        "mnist/t10k-images-idx3-ubyte", "mnist/t10k-labels-idx1-ubyte",
        "cifar-10-batches-bin/data_batch_1.bin", "cifar-10-batches-bin/test_batch.bin"}) {
    const std::string path = std::string("data/") + name;
    std::filesystem::create_directories(
        std::filesystem::path(scratch.path() + "/" + path).parent_path());
    scratch.write(path, "");
  }
}

// That all go together is tested inside one process; here the program says so of each of them.
// Seen to fail: a misspelt key in one of them.
TEST(ShippedFiles, TheProgramChecksEachOfThem) {
  const Scratch scratch;
  put_data(scratch);
  const auto configs = shipped(scratch, "configs"), topologies = shipped(scratch, "topologies");
  EXPECT_GE(configs.size(), 5u);
  EXPECT_GE(topologies.size(), 5u);
  for (const std::string& config : configs)
    for (const std::string& topology : topologies) {
      if (config != configs.front() && topology != topologies.front()) continue;
      const Ended ended = run_program(scratch, {"check", config, topology});
      EXPECT_EQ(ended.code, 0) << config << " with " << topology << "\n" << ended.err;
      EXPECT_EQ(ended.err, "");
      EXPECT_EQ(lines_of(ended.out).size(), 2u) << ended.out;
    }
}

// Seen to fail: with a check that does not look for files.
TEST(ShippedFiles, SayWhichDataTheyMiss) {
  const Scratch scratch;
  const Ended mnist = run_program(scratch, {"check", "configs/mnist-cnn.yaml"});
  EXPECT_EQ(mnist.code, 2);
  EXPECT_EQ(mnist.err,
            "kimesh: configs/mnist-cnn.yaml:4: there is no folder data/mnist, which data.path asks "
            "for. Point data.path at a folder with the unpacked files of MNIST (gzip -d); a "
            "relative path counts from the config file's folder.\n");
  EXPECT_EQ(run_program(scratch, {"check", "configs/digits.yaml"}).code, 0);
}

// Whatever it is called and however it is written. Seen to fail: with `edges` not among the keys of
// topologies.
TEST(Check, TellsATopologyFromAConfigByItsKeys) {
  const Scratch scratch;
  for (const std::string text :
       {"edges: [a-b]\n", "{\"dead_after\": 5s}\n", "# nothing\nnodes:\n"}) {
    scratch.write("mesh.yaml", text);
    const Ended ended = run_program(scratch, {"check", "mesh.yaml"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.err.find("kind is missing"), std::string::npos) << text << ended.err;
  }
  scratch.write("topology.yaml", "stop: {rounds: 5}\n");
  const Ended config = run_program(scratch, {"check", "topology.yaml"});
  EXPECT_EQ(config.err.find("kind is missing"), std::string::npos) << config.err;
}

TEST(Explain, TellsKindsAndKeysAndRefusesUnknownNames) {
  const Scratch scratch;
  const Ended all = run_program(scratch, {"explain"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_NE(all.out.find("topology"), std::string::npos) << all.out;
  const Ended tree = run_program(scratch, {"explain", "topology", "tree"});
  EXPECT_EQ(tree.code, 0) << tree.err;
  EXPECT_NE(tree.out.find("fan_out"), std::string::npos) << tree.out;
  const Ended page = run_program(scratch, {"explain", "--markdown"});
  EXPECT_EQ(page.out, read_text(KIMESH_SOURCE_DIR "/docs/kinds.md"));
  for (const std::vector<std::string>& unknown :
       {std::vector<std::string>{"explain", "toplogy"}, {"explain", "topology", "tre"}}) {
    const Ended refused = run_program(scratch, unknown);
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("Write one of: "), std::string::npos) << refused.err;
  }
}

// Words of a command line without its comment; nothing where a reader has to fill in something.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word && word[0] != '#';) {
    const bool blank = word == "..." || std::regex_search(word, std::regex("^[A-Z]+(\\.|$)"));
    if (blank) return {};
    words.push_back(word);
  }
  return words;
}

// Those that end within seconds: check, plan and simulate. Seen to fail: a file of the README that
// does not exist.
TEST(Readme, ItsQuickCommandsWork) {
  const Scratch scratch;
  const std::string text = read_text(KIMESH_SOURCE_DIR "/README.md");
  std::size_t run = 0;
  for (const std::string& line : lines_of(text)) {
    std::smatch match;
    static const std::regex quick("^ *(?:build/release/)?kimesh ((check|plan|simulate) .*)$");
    if (!std::regex_match(line, match, quick)) continue;
    const auto words = words_of(match[1]);
    if (words.empty()) continue;
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 0) << line << "\n" << ended.out << ended.err;
    EXPECT_NE(ended.out, "") << line;
    ++run;
  }
  EXPECT_GE(run, 2u) << "the README shows no command that can be run as it stands";
}

}  // namespace
}  // namespace kimesh::test::files_test
