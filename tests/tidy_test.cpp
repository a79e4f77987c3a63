// Holds the whole tree to the rules of tests/tidy/rules.h, and every rule to a small example that
// breaks it: a checker that cannot complain guards nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/tidy/rules.h"

namespace kimesh::tidy {
namespace {

namespace fs = std::filesystem;

SourceFile read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return {fs::relative(path, KIMESH_SOURCE_DIR).generic_string(), std::move(text)};
}

std::vector<SourceFile> files_under(std::initializer_list<const char*> folders,
                                    const std::set<std::string>& endings) {
  std::vector<SourceFile> files;
  for (const char* folder : folders) {
    const fs::path top = fs::path(KIMESH_SOURCE_DIR) / folder;
    if (!fs::exists(top)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
      const bool wanted = endings.empty() || endings.contains(entry.path().extension().string());
      if (entry.is_regular_file() && wanted) files.push_back(read(entry.path()));
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<SourceFile> sources() {
  return files_under({"src", "kernels", "tests"}, {".h", ".cpp", ".cu", ".cuh"});
}

Layers layers() {
  return parse_layers(read(fs::path(KIMESH_SOURCE_DIR) / "CMakeLists.txt").text);
}

std::string told(const Complaints& complaints) {
  std::string text;
  for (const Complaint& c : complaints) {
    text += c.path + ":" + std::to_string(c.line) + ": " + c.sentence + "\n";
  }
  return text;
}

template <typename Check>
void expect_tidy(const std::vector<SourceFile>& files, Check check) {
  for (const SourceFile& file : files) {
    const Complaints complaints = check(file);
    EXPECT_TRUE(complaints.empty()) << told(complaints);
  }
}

// The whole tree. Seen red: round including link's header and <zmq.h>, policy reading the steady
// clock, a function of 72 lines in util, a note of work to do in `dev`, each by its own test.

TEST(Tidy, ThereIsSomethingToLookAt) {
  EXPECT_GT(sources().size(), 20u);
  EXPECT_GT(layers().size(), 15u);
}

TEST(Tidy, ArrowsGoDown) {
  const Layers known = layers();
  expect_tidy(sources(), [&](const SourceFile& file) { return check_layers(file, known); });
}

TEST(Tidy, EveryDependencyHasOneDoor) {
  expect_tidy(sources(), check_doors);
}

TEST(Tidy, LinesFunctionsAndFilesAreSmall) {
  expect_tidy(sources(), check_sizes);
}

TEST(Tidy, TimeAndChanceAreArguments) {
  expect_tidy(sources(), check_calls);
}

TEST(Tidy, NothingIsLeftUndoneOrTiedToAMachine) {
  expect_tidy(files_under({"src", "kernels", "tests", "cmake", "examples", "configs", "topologies",
                           "docker", ".ci"},
                          {".h", ".cpp", ".cu", ".cuh", ".cmake", ".in", ".txt", ".yaml", ".py",
                           ".md", ".sh", ".supp", ""}),
              check_words);
  for (const char* name : {"dev", "CMakeLists.txt", "CMakePresets.json", "README.md"}) {
    const Complaints complaints = check_words(read(fs::path(KIMESH_SOURCE_DIR) / name));
    EXPECT_TRUE(complaints.empty()) << told(complaints);
  }
}

std::vector<SourceFile> pages() {
  std::vector<SourceFile> pages =
      files_under({"docs", "docker", "topologies", "configs", "examples"}, {".md"});
  for (const char* name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}) {
    pages.push_back(read(fs::path(KIMESH_SOURCE_DIR) / name));
  }
  return pages;
}

std::optional<std::string> text_of(const std::string& path) {
  const fs::path place = fs::path(KIMESH_SOURCE_DIR) / path;
  if (!fs::exists(place)) return std::nullopt;
  return fs::is_directory(place) ? "" : read(place).text;
}

// Seen red: a link to a page that is not there, one to a heading that is not there.
TEST(Tidy, LinksOfTheDocumentationLeadSomewhere) {
  expect_tidy(pages(), [](const SourceFile& page) { return check_links(page, text_of); });
}

// Seen red: a word of a quoted file changed.
TEST(Tidy, TheDocumentationQuotesWhatTheFilesSay) {
  expect_tidy(pages(), [](const SourceFile& page) { return check_quotes(page, text_of); });
}

TEST(Tidy, NothingRefersToFilesOutsideTheRepository) {
  expect_tidy(sources(), check_references);
  expect_tidy(pages(), check_references);
}

// Seen red: a layer that sees one more, here or there. Paste what the test prints.
TEST(Tidy, ThePictureOfTheLayersIsThatOfCMake) {
  const std::string text = read(fs::path(KIMESH_SOURCE_DIR) / "docs/architecture.md").text;
  EXPECT_EQ(block_after("## Layers", text), draw_layers(layers()));
}

// The rules themselves, each on an example that breaks it beside one that does not.

const Layers kSmall = parse_layers(
    "kimesh_layer(util DOOR fmt::fmt)\n"
    "kimesh_layer(wire SEES util)  # SEES round\n"
    "kimesh_layer(link SEES wire\n             DOOR zmq)\n"
    "kimesh_layer(round SEES util)\n");

SourceFile file(std::string path, std::string text) {
  return {std::move(path), std::move(text)};
}

TEST(TidyRules, ALayerSeesWhatItsLayersSee) {
  EXPECT_EQ(kSmall.at("link"), (std::set<std::string>{"link", "util", "wire"}));
  EXPECT_EQ(kSmall.at("wire"), (std::set<std::string>{"util", "wire"}));
  EXPECT_TRUE(kSmall.at("cli").contains("round"));
}

TEST(TidyRules, AnIncludeThatClimbsIsRefused) {
  const std::string text = "#include \"frame.h\"\n#include \"../link/inbox.h\"\n";
  EXPECT_EQ(check_layers(file("src/wire/frame.cpp", text), kSmall).at(0).line, 2u);
  EXPECT_EQ(check_layers(file("src/wire/frame.cpp", text), kSmall).size(), 1u);
}

TEST(TidyRules, APrivateHeaderOfAnotherLayerIsRefused) {
  const std::string text = "#include \"src/wire/parts.h\"\n";
  EXPECT_EQ(check_layers(file("src/link/link.cpp", text), kSmall).size(), 1u);
  EXPECT_EQ(check_layers(file("src/wire/frame.cpp", text), kSmall).size(), 1u);
  EXPECT_EQ(check_layers(file("tests/link/inbox_test.cpp", text), kSmall).size(), 1u);
  EXPECT_TRUE(check_layers(file("tests/wire/frame_test.cpp", text), kSmall).empty());
  EXPECT_TRUE(check_layers(file("tests/e2e/ring_test.cpp", text), kSmall).empty());
}

TEST(TidyRules, AFolderThatIsNoLayerIsRefused) {
  EXPECT_EQ(check_layers(file("src/misc/helpers.cpp", ""), kSmall).size(), 1u);
}

TEST(TidyRules, ADependencyThroughAnotherDoorIsRefused) {
  for (const char* header : {"torch/torch.h", "zmq.h", "zmq.hpp", "msgpack.hpp", "yaml-cpp/yaml.h",
                             "nlohmann/json.hpp", "CLI/CLI.hpp", "xxhash.h", "cuda_runtime.h"}) {
    const std::string text = std::string("#include <") + header + ">\n";
    EXPECT_EQ(check_doors(file("src/round/core.cpp", text)).size(), 1u) << header;
    EXPECT_EQ(check_doors(file("src/link/include/kimesh/link/link.h", text)).size(), 1u) << header;
    EXPECT_EQ(check_doors(file("src/train/include/kimesh/train/trainer.h", text)).size(), 1u)
        << header;
  }
  EXPECT_TRUE(check_doors(file("src/link/link.cpp", "#include <zmq.h>\n")).empty());
  EXPECT_TRUE(check_doors(file("tests/bench/arguments.h", "#include <CLI/CLI.hpp>\n")).empty());
  EXPECT_TRUE(check_doors(file("src/train/mlp.cpp", "#include <torch/torch.h>\n")).empty());
  EXPECT_EQ(check_doors(file("src/train/mlp.cpp", "#include <fmt/format.h>\n")).size(), 1u);
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "  f();\n";
  return text;
}

TEST(TidyRules, ALongLineIsRefused) {
  EXPECT_TRUE(check_sizes(file("src/a/a.cpp", std::string(100, 'x') + "\n")).empty());
  EXPECT_EQ(check_sizes(file("src/a/a.cpp", std::string(101, 'x') + "\n")).size(), 1u);
  EXPECT_TRUE(check_sizes(file("src/a/a.cpp", std::string(98, 'x') + "ω‖\n")).empty());
}

TEST(TidyRules, ALongFileIsRefused) {
  EXPECT_TRUE(check_sizes(file("src/a/a.cpp", lines(400))).empty());
  EXPECT_EQ(check_sizes(file("src/a/a.cpp", lines(401))).size(), 1u);
  EXPECT_TRUE(check_sizes(file("src/a/a.cpp", "// Generated by x.py\n" + lines(401))).empty());
}

TEST(TidyRules, ALongFunctionIsRefusedWhereverItStands) {
  const std::string good = lines(68) + "}\n";
  const std::string bad = lines(69) + "}\n";
  for (const std::string head :
       {"void f() {\n", "namespace a {\nvoid f(int x) {\n", "struct S {\n  S() : a_{1}, b_(2) {\n",
        "template <typename T = int>\nT f(T x) {\n", "bool operator==(S a, S b) {\n",
        "#define X(a) f(a)\n#include <a>\nTEST(A, B) {\n", "struct S {\n  int f() const {\n"}) {
    EXPECT_TRUE(check_sizes(file("src/a/a.cpp", head + good)).empty()) << head;
    EXPECT_EQ(check_sizes(file("src/a/a.cpp", head + bad)).size(), 1u) << head;
  }
}

TEST(TidyRules, ALongTableOrNamespaceOrCommentIsNoFunction) {
  for (const std::string head :
       {"namespace a {\n", "struct S {\n", "const auto k = std::to_array<int>({\n", "int k[] = {\n",
        "#define X(a) f(a)\nnamespace a {\n", "/* void f() {\n*/ struct S {\n",
        "const char* s = \"void f() {\"; namespace a {\n"}) {
    EXPECT_TRUE(check_sizes(file("src/a/a.cpp", head + lines(100) + "}\n")).empty()) << head;
  }
}

TEST(TidyRules, AClockOrChanceBelowTheDriversIsRefused) {
  for (const char* call :
       {"std::random_device d;", "getenv(\"HOME\");", "std::chrono::system_clock::now();",
        "auto t = std::chrono::steady_clock::now();", "std::this_thread::sleep_for(1s);"}) {
    EXPECT_EQ(check_calls(file("src/round/core.cpp", call)).size(), 1u) << call;
    EXPECT_EQ(check_calls(file("src/round/include/kimesh/round/core.h", call)).size(), 1u) << call;
    EXPECT_EQ(check_calls(file("kernels/topk_cpu.cpp", call)).size(), 1u) << call;
    EXPECT_EQ(check_calls(file("src/train/trainer.cpp", call)).size(), 1u) << call;
    EXPECT_TRUE(check_calls(file("src/node/node.cpp", call)).empty()) << call;
    EXPECT_TRUE(check_calls(file("src/round/core.cpp", std::string("// ") + call)).empty());
  }
  EXPECT_TRUE(check_calls(file("src/round/core.cpp", "steady_clock::time_point now;")).empty());
}

// Seen to fail: at every place where the program parsed JSON before there was parse_json.
TEST(TidyRules, JsonOfAnyDepthIsRefused) {
  for (const char* call : {"const Json json = Json::parse(line, nullptr, false);",
                           "auto json = nlohmann::ordered_json::parse(text);"}) {
    EXPECT_EQ(check_calls(file("src/web/digest.cpp", call)).size(), 1u) << call;
    EXPECT_TRUE(check_calls(file("tests/web/watch_test.cpp", call)).empty()) << call;
  }
  EXPECT_TRUE(check_calls(file("src/web/digest.cpp", "parse_json<Json>(text);")).empty());
}

TEST(TidyRules, TheGlobalGeneratorIsRefusedEverywhere) {
  for (const char* call : {"std::rand();", "srand(1);", "int x = rand();"}) {
    EXPECT_EQ(check_calls(file("src/node/node.cpp", call)).size(), 1u) << call;
    EXPECT_EQ(check_calls(file("tests/round/core_test.cpp", call)).size(), 1u) << call;
  }
  EXPECT_TRUE(check_calls(file("src/node/node.cpp", "int x = operand();")).empty());
}

TEST(TidyRules, ATestThatSleepsOrDrawsASeedUnseenIsRefused) {
  for (const char* call : {"std::this_thread::sleep_for(1s);", "std::this_thread::sleep_until(t);",
                           "usleep(10);", "sleep(1);", "std::random_device seed;"}) {
    EXPECT_EQ(check_calls(file("tests/link/link_test.cpp", call)).size(), 1u) << call;
  }
}

TEST(TidyRules, ASilentCatchOfEverythingIsRefused) {
  EXPECT_EQ(check_calls(file("src/link/link.cpp", "try {\n} catch (...) {\n}\n")).size(), 1u);
  EXPECT_TRUE(
      check_calls(file("src/link/link.cpp", "try {\n} catch (...) {\n  // why\n}\n")).empty());
}

TEST(TidyRules, NotesOfWorkAndPathsOfOneMachineAreRefused) {
  for (const char* text : {"// TO"
                           "DO: more",
                           "# FIX"
                           "ME",
                           "\"/wo"
                           "rk/x\"",
                           "cd /t"
                           "mp/x"}) {
    EXPECT_EQ(check_words(file("dev", text)).size(), 1u) << text;
  }
  EXPECT_TRUE(check_words(file("dev",
                               "https://example.org/wo"
                               "rk/ todos"))
                  .empty());
}

TEST(TidyRules, WhatIsNoCodeIsBlankedOutAndLinesStay) {
  EXPECT_EQ(code_only("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_only("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(code_only("f(\"x\\\"{\")"), "f(      )");
  EXPECT_EQ(code_only("'{' + 1'000"), "    + 1'000");
  EXPECT_EQ(code_only("R\"y({\n\"})y\" z"), "     \n      z");
}

TEST(TidyRules, ThePictureLeavesOutWhatIsSeenThroughOthers) {
  EXPECT_EQ(draw_layers(kSmall),
            " 3  cli   -> link, round\n"
            " 2  link  -> wire\n"
            " 1  round -> util\n"
            " 1  wire  -> util\n"
            " 0  util\n");
  EXPECT_EQ(block_after("## B", "## A\n```\na\n```\n## B\nwords\n```text\nb\n```\n"), "b\n");
}

TEST(TidyRules, ALinkToNothingIsRefused) {
  const auto read_file = [](const std::string& path) -> std::optional<std::string> {
    if (path != "docs/a.md") return std::nullopt;
    return "# Title\n## What it is, and why\n";
  };
  const auto complaints = [&](const std::string& text) {
    return check_links(file("docs/b.md", text), read_file).size();
  };
  EXPECT_EQ(complaints("[a](a.md) [b](../docs/a.md#what-it-is-and-why) [c](https://example.org)"),
            0u);
  EXPECT_EQ(complaints("[a](c.md)"), 1u);
  EXPECT_EQ(complaints("\n[a](a.md#what-it-was) [a](a.md#title)"), 1u);
}

TEST(TidyRules, AQuoteThatIsNoneIsRefused) {
  const auto read_file = [](const std::string& path) -> std::optional<std::string> {
    if (path != "src/a.cpp") return std::nullopt;
    return "int a;\nint b;\nint c;\n";
  };
  const auto complaints = [&](const std::string& quote) {
    return check_quotes(file("docs/b.md", "words\n" + quote + "```\n"), read_file).size();
  };
  EXPECT_EQ(complaints("```cpp src/a.cpp\nint a;\n...\nint c;\n"), 0u);
  EXPECT_EQ(complaints("```cpp\nint d;\n"), 0u);
  EXPECT_EQ(complaints("```cpp src/a.cpp\nint a;\nint c;\n"), 1u);
  EXPECT_EQ(complaints("```cpp src/a.cpp\nint c;\n...\nint a;\n"), 1u);
  EXPECT_EQ(complaints("```cpp src/b.cpp\nint a;\n"), 1u);
}

// The bad examples are written in two halves, so that this file passes the rule itself.
TEST(TidyRules, AReferenceToTheOutsideIsRefused) {
  const auto complaints = [](const std::string& text) {
    return check_references(file("src/a.h", text)).size();
  };
  EXPECT_EQ(complaints(std::string("// as needed (des") + "ign, invariant 3)\n"), 1u);
  EXPECT_EQ(complaints(std::string("// measured (fac") + "ts, 4)\n"), 1u);
  EXPECT_EQ(complaints("// by design; docs/architecture.md\n"), 0u);
}

}  // namespace
}  // namespace kimesh::tidy
