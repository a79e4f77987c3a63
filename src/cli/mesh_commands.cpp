#include "mesh_commands.h"

#include "option_values.h"

namespace kimesh::cli {
namespace {

constexpr const char* kSimdHelp =
    "instruction set of the kernels: avx512, avx2, sse4, neon or scalar; the bits are the same";

void add_files(CLI::App& command, RunOptions& options, bool required) {
  command.add_option("--config", options.config, "what is trained (configs/*.yaml)")
      ->type_name(kFile)
      ->required(required);
  command.add_option("--topology", options.topology, "who talks to whom (topologies/*.yaml)")
      ->type_name(kFile)
      ->required(required);
  command.add_flag("--digests", options.digests, "record digests of the owned shards each round");
}

// A run that goes on has its files in its folder.
void add_resume(CLI::App& command, RunOptions& options) {
  command
      .add_option("--resume", options.resume,
                  "go on from the newest checkpoint of this run's folder")
      ->type_name(kFolder);
}

void add_page(CLI::App& command, PageOptions& options) {
  command.add_option("--web", options.address, "serve the live page at HOST:PORT (127.0.0.1:9200)")
      ->type_name(kAddress)
      ->expected(0, 1)
      ->default_str(kPageAddress);
  command.add_option("--web-token", options.token_file, kTokenHelp)->type_name(kFile);
}

void add_run(CLI::App& command, RunOptions& options, bool required) {
  add_files(command, options, required);
  command.add_option("--run", options.run, "name of the run's folder in runs/")->type_name(kName);
  command.add_option("--json", options.json, "write the figures to this file")->type_name(kFile);
}

constexpr const char* kKeysHelp = "folder of the keys, where the topology's is not the place";

void add_up(CLI::App& app, RunOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("up", "run all nodes, on this machine or through ssh");
  add_run(*command, options, false);
  command
      ->add_option("--ssh", options.hosts,
                   "run them on the machines that this file names (kimesh explain hosts)")
      ->type_name(kFile);
  add_resume(*command, options);
  add_page(*command, options.page);
  command->add_option("--keys", options.keys, kKeysHelp)->type_name(kFolder);
  command->callback([&] { code = up(options); });
}

void add_node(CLI::App& app, NodeOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("node", "run one node");
  add_files(*command, options.run, false);
  add_resume(*command, options.run);
  command->add_flag("--resume-if-any", options.resumes_if_any,
                    "go on with the run in runs/ that was not ended, or begin one");
  command->add_option("--health", options.health, "file that says by when the node has gone on")
      ->type_name(kFile);
  command->add_option("--name", options.name, "which node of the topology")
      ->type_name(kNode)
      ->required();
  command->add_option("--keys", options.run.keys, kKeysHelp)->type_name(kFolder);
  command->add_option("--run-folder", options.run_folder, "where its files go")->type_name(kFolder);
  command->add_option("--metrics", options.metrics, "HOST:PORT where Prometheus may ask")
      ->type_name(kAddress);
  add_page(*command, options.run.page);
  CLI::Option* all = command->add_flag_callback(
      "--web-all", [&] { options.asks_others = true; },
      "show the other nodes, too: ask their pages, at the same port (beyond loopback the usual)");
  command
      ->add_flag_callback(
          "--web-own", [&] { options.asks_others = false; }, "show this node alone")
      ->excludes(all);
  command->add_flag("--watched", options.watched, "record queues, for a page of another process");
  command->add_flag("--no-verdict", options.no_verdict,
                    "leave the verdict at the end to another process");
  command->add_flag("--tell-records", options.tells_records,
                    "write the node's records to stdout, a line each, in place of words");
  command->add_option("--simd", options.simd, kSimdHelp)->type_name(kName);
  command->add_option("--threads", options.threads, "LibTorch threads")->check(CLI::Range(1, 1024));
  command->callback([&] { code = node(options); });
}

void add_simulate(CLI::App& app, SimulateOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("simulate", "run the mesh in virtual time");
  add_run(*command, options.run, true);
  add_page(*command, options.run.page);
  command->add_option("--replay", options.replay, "repeat the decisions of this run's folder")
      ->type_name(kFolder);
  command
      ->add_option("--compute", options.compute,
                   "virtual time of a gradient, such as 10ms; NODE=TIME: at that node")
      ->type_name(kTime)
      ->allow_extra_args(false);
  command->add_option("--simd", options.simd, kSimdHelp)->type_name(kName);
  command->callback([&] { code = simulate(options); });
}

void add_doctor(CLI::App& app, DoctorCommand& options, int& code) {
  CLI::App* command =
      app.add_subcommand("doctor", "try every link of a node; start it on all machines");
  command->add_option("TOPOLOGY", options.topology, "topologies/*.yaml")
      ->type_name(kFile)
      ->required();
  command->add_option("--name", options.name, "which node of it this machine is")
      ->type_name(kNode)
      ->required();
  command->add_option("--wait", options.wait, "for others, without any news (60s)")
      ->type_name(kTime);
  command->add_option("--keys", options.keys, kKeysHelp)->type_name(kFolder);
  command->callback([&] { code = doctor(options); });
}

void add_export(CLI::App& app, ExportOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("export", "write files that start a mesh in containers");
  const std::map<std::string, ExportOptions::Target> targets{
      {"compose", ExportOptions::Target::kCompose},
      {"kubernetes", ExportOptions::Target::kKubernetes}};
  add_choice(*command, "TARGET", options.target, targets, "what starts the containers")->required();
  command->add_option("TOPOLOGY", options.topology, "topologies/*.yaml")
      ->type_name(kFile)
      ->required();
  command->add_option("--config", options.config, "what is trained (configs/*.yaml)")
      ->type_name(kFile)
      ->required();
  command->add_option("--output", options.output, "folder for the files (mesh)")
      ->type_name(kFolder);
  command->add_option("--image", options.image, "image of the containers (kimesh:latest)")
      ->type_name(kName);
  command
      ->add_option("--name", options.name,
                   "of Kubernetes' objects: one a mesh (kimesh); compose takes the folder's")
      ->type_name(kName);
  add_size(*command, "--memory", options.memory_bytes, "memory that a node may take (4GiB)");
  add_size(*command, "--disk", options.disk_bytes,
           "disk that a node's records and checkpoints may take, in Kubernetes (4GiB)");
  command->callback([&] { code = export_mesh(options); });
}

}  // namespace

MeshCommands::MeshCommands(const std::vector<std::string>& words) {
  for (RunOptions* options : {&up, &node.run, &simulate.run}) options->command = words;
}

void MeshCommands::add_to(CLI::App& app, int& code) {
  add_up(app, up, code);
  add_node(app, node, code);
  add_simulate(app, simulate, code);
  add_doctor(app, doctor, code);
  add_export(app, exported, code);
}

}  // namespace kimesh::cli
