// The folder of a run and its files:
//
//   runs/NAME/config.yaml topology.yaml    copies of the files it was given; other files (traces,
//             ...                          tables of numbers) under the path by which they are
//                                          named, so that the copies work as well. A topology with
//                                          traces elsewhere is written anew, with these beside it.
//                                          Data is not copied (load_config's `copied_from`)
//   runs/NAME/run.json                     command, version, build, environment, started, seed,
//                                          config, topology (where the given files lie), nodes,
//                                          layout ([{name, shape}] of the model's tensors),
//                                          learning_rate (a number, also of `lr: theory`),
//                                          settings (a digest of what both files say), keys
//                                          (the path of their folder, where links are encrypted),
//                                          after (the run that went on here with other nodes)
//   runs/NAME/nodes/a.jsonl                what happened at node a (recorder.h); what came before,
//             a.old.jsonl                  where that is too large for one file
//   runs/NAME/nodes/a.decisions.jsonl      what it decided (decision_log.h); what came before
//             a.decisions.7.jsonl          if it is too large, in parts with ascending numbers
//   runs/NAME/nodes/a.log                  what its process wrote to stderr (kimesh up); what came
//             a.log.1                      before, where that was too much (log_bound.h)
//   runs/NAME/nodes/a.lock                 there while a process trains the node (node_lock.h)
//   runs/NAME/nodes/a.safetensors          its model; after a normal end equal on all nodes
//   runs/NAME/checkpoints/a/99.checkpoint  what node a needs to go on with round 100
//                                          (checkpoint/checkpoint_file.h)
//   runs/NAME/model.safetensors            the model: the nodes', or, where they differ, made of
//                                          their shards (model_files/node_model.h)
//   runs/NAME/summary.json                 how it ended (summary.h)
//   runs/NAME/report.html                  of `kimesh report`, which reads the files above
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct RunFolderRequest {
  std::string parent = "runs";
  std::string name;  // empty: CONFIG-TOPOLOGY-1, or the first number that is free
  // The folder of the run that goes on in this one, whose name stands for CONFIG; empty: none.
  std::string after;
  std::string config_path, topology_path;
  // Files that the topology file and the config file name, with paths as written there.
  std::vector<std::string> topology_files, config_files;
};

struct RunInfo {
  std::vector<std::string> command;
  std::string version, build;
  std::string environment;  // what the bits of a run depend on
  std::string started;      // date and time, in the caller's format
  std::uint64_t seed = 0;
  std::string config_path, topology_path;  // absolute
  std::vector<std::string> nodes;
  Layout layout;             // of the model
  double learning_rate = 0;  // of the optimizer, before its schedule
  std::string settings;      // Mesh::settings
  std::string keys_folder;   // where the keys of the links lie; empty: they are not encrypted
  std::string after{};       // the folder of the run that goes on in this one
};

class RunFolder {
 public:
  // Makes the folder and copies the files; existing files are never overwritten. Errors: UserInput
  // (the name is taken or no name), Io.
  [[nodiscard]] static Result<RunFolder> create(const RunFolderRequest& request);
  // The same in the folder PARENT/NAME, which may be there: other nodes of the run make it too.
  // Errors: UserInput (a file with another content is in the place of a copy), Io.
  [[nodiscard]] static Result<RunFolder> share(const RunFolderRequest& request);
  // A folder that exists, or that another process makes.
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  // Makes FOLDER/nodes where it is missing. Errors: UserInput when there are files of `node`
  // already, Io.
  [[nodiscard]] Status prepare_node(const std::string& node) const;
  // The same for a node that goes on with its files.
  [[nodiscard]] Status prepare_resumed_node() const;
  // Errors: UserInput (the layout is too long to be read again), Io.
  [[nodiscard]] Status write_info(const RunInfo& info) const;
  // RunInfo::keys_folder of the run; empty, too, where no run.json tells.
  [[nodiscard]] std::string keys_folder() const;
  // RunInfo::config_path of the run; empty where no run.json tells.
  [[nodiscard]] std::string given_config() const;
  // RunInfo::settings of the run; empty where no run.json tells.
  [[nodiscard]] std::string settings() const;
  // RunInfo::layout of the run; empty where no run.json tells.
  [[nodiscard]] Layout layout() const;

  // Whether `file`, which may be missing, lies where the run keeps a file of its own: run.json,
  // config, topology, model, summary, and all that is in the folders of nodes and checkpoints.
  [[nodiscard]] bool owns(const std::string& file) const;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string events(const std::string& node) const;
  [[nodiscard]] std::string earlier_events(const std::string& node) const;
  [[nodiscard]] std::string decisions(const std::string& node) const;
  [[nodiscard]] std::string log(const std::string& node) const;
  [[nodiscard]] std::string lock(const std::string& node) const;
  [[nodiscard]] std::string node_model(const std::string& node) const;
  [[nodiscard]] std::string checkpoints(const std::string& node) const;  // a folder
  // The copies of the run's files.
  [[nodiscard]] std::string config() const { return path_ + "/config.yaml"; }
  [[nodiscard]] std::string topology() const { return path_ + "/topology.yaml"; }
  [[nodiscard]] std::string model() const { return path_ + "/model.safetensors"; }
  [[nodiscard]] std::string summary() const { return path_ + "/summary.json"; }

 private:
  std::string path_;
};

}  // namespace kimesh
