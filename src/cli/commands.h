// The commands of `kimesh`, one file each. Every function returns the exit code of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kimesh::cli {

inline constexpr int kExitDone = 0;    // also after Ctrl-C: the run's folder is whole
inline constexpr int kExitFailed = 1;  // the run failed
inline constexpr int kExitUser = 2;    // the user's input is wrong; nothing was started
// The run failed, and would fail again if its nodes were only started again.
inline constexpr int kExitPermanent = 3;
// Another node was stopped, which ended the run here. A supervisor starts this node again, and it
// goes on with the run (--resume-if-any).
inline constexpr int kExitOtherStopped = 4;

struct PageOptions {
  std::string address;     // HOST:PORT of the live page; empty: none
  std::string token_file;  // what its readers must know; empty: nothing, on loopback alone
};
struct RunOptions {
  std::vector<std::string> command;  // as it was typed, for run.json
  std::string config, topology;
  std::string config_copied_from{};  // as in MeshFiles
  std::string run;                   // name of the run's folder; empty: made up
  std::string json;                  // figures go there; empty: nowhere
  bool digests = false;              // digests of owned shards in every round's record
  std::string keys{};                // folder of the keys; empty: what the topology says
  std::string resume{};              // folder of the run that goes on; empty: a new run
  std::string hosts{};  // file of the machines whose ssh starts the nodes; empty: they run here
  PageOptions page{};
};
struct NodeOptions {
  RunOptions run;
  std::string name;
  std::string run_folder;  // empty: one of its own
  std::string metrics;     // HOST:PORT where metrics are served; empty: nowhere
  std::string simd;        // instruction set of the kernels; empty: the best there is
  // Goes on with the run of the same files in runs/ that has not come to its end, or begins one;
  // until the mesh is complete it waits for nodes that are ending an earlier run.
  bool resumes_if_any = false;
  std::string health;  // file that says by when the node has gone on (health_file.h); empty: none
  int threads = 0;     // 0: cores / nodes of the topology on this machine's address
  // Whether the page asks the pages of the other nodes; empty: beyond loopback it does.
  std::optional<bool> asks_others{};
  bool watched = false;        // another process shows the run folder: records tell the queues
  bool no_verdict = false;     // another process says it at the end of the run
  bool tells_records = false;  // stdout gets the records, a line each, and no text for people
};
struct SimulateOptions {
  RunOptions run;
  std::string replay;  // folder of the run whose decisions are replayed; empty: none
  // Virtual durations of a gradient: TIME, or NODE=TIME for that node; empty: the default.
  std::vector<std::string> compute;
  std::string simd;  // as in NodeOptions
};
struct ExplainOptions {
  std::string section;    // empty: all are listed
  std::string kind;       // empty: the section as a whole
  bool markdown = false;  // everything, as a page
};
struct PlanOptions {
  std::string topology;
  std::string config;  // empty: sizes are left out
  std::string json;
  bool predict = false;                 // time and bytes of the run; needs a config
  std::string compute;                  // of a gradient; empty: the default
  std::string suggest{};                // file for the best joins of the nodes; empty: not asked
  std::vector<std::string> measured{};  // folders of runs that tell rates
};

inline constexpr std::size_t kSampleTokensMax = 1'000'000;  // each takes a pass over the model
// Near the first the most probable token is drawn, near the second any token.
inline constexpr double kTemperatureMin = 0.01, kTemperatureMax = 100;
struct EvalOptions {
  std::string model;  // safetensors
  std::string config;
  std::string json;
  std::size_t sample = 0;    // tokens of text that the model is to write; 0: none
  std::string prompt;        // the text before the sample; empty: the end of a line
  double temperature = 0.8;  // at 1 a model that is trained little writes much that is unlikely
  std::uint64_t seed = 1;    // of the sample
};

struct DoctorCommand {
  std::string topology;
  std::string name;  // which node of it this machine is
  std::string keys;  // as in RunOptions
  std::string wait;  // how long to wait without news, such as 60s; empty: the default
};

struct JoinOptions {
  std::vector<std::string> command;  // as in RunOptions
  std::vector<std::string> runs;     // folders
  std::string output;                // file, or folder of a run; empty: a default
  // A topology under which the run is to go on; empty: a model is made.
  std::string topology;
  // The config and topology of the earlier run; empty: their copies in the first folder.
  std::string config, before;
};

struct ReportOptions {
  enum class Format { kHtml, kMarkdown, kJson };
  std::vector<std::string> runs;  // folders
  Format format = Format::kHtml;
  std::string output;  // file; empty: report.html in the run's folder, other formats to stdout
};

struct WebOptions {
  std::string run;  // folder
  PageOptions page;
};

struct ExportOptions {
  enum class Target { kCompose, kKubernetes };
  Target target = Target::kCompose;
  std::string topology, config;
  std::string output = "mesh";  // folder; existing files are overwritten
  std::string image = "kimesh:latest";
  std::string name = "kimesh";  // of Kubernetes' objects
  // The limits of a node. The defaults are enough for LibTorch, a model of a hundred million
  // parameters with the vectors that are kept of it, and its checkpoints.
  std::uint64_t memory_bytes = std::uint64_t{4} << 30, disk_bytes = std::uint64_t{4} << 30;
};

struct KeygenOptions {
  std::string topology;
  std::string folder;                // empty: what the topology says
  std::vector<std::string> renewed;  // nodes that get a new pair although they have one
};

struct InitOptions {
  std::string task, data, machines, kind, stop;  // empty: asked, where somebody can answer
  std::string folder = ".";
  bool overwrites = false;
};

// The tasks and the ways to join nodes that `kimesh init` offers: as A|B|C, and in words.
[[nodiscard]] std::string task_names();
[[nodiscard]] std::string task_help();
[[nodiscard]] std::string joins();
[[nodiscard]] int init(InitOptions options);
[[nodiscard]] int keygen(const KeygenOptions& options);
[[nodiscard]] int check(const std::vector<std::string>& files);
[[nodiscard]] int explain(const ExplainOptions& options);
[[nodiscard]] int plan(const PlanOptions& options);
[[nodiscard]] int up(RunOptions options);
[[nodiscard]] int node(NodeOptions options);
[[nodiscard]] int export_mesh(const ExportOptions& options);
[[nodiscard]] int simulate(const SimulateOptions& options);
[[nodiscard]] int doctor(const DoctorCommand& command);
[[nodiscard]] int join(const JoinOptions& options);
[[nodiscard]] int report(const ReportOptions& options);
[[nodiscard]] int web(const WebOptions& options);
[[nodiscard]] int evaluate(const EvalOptions& options);

}  // namespace kimesh::cli
