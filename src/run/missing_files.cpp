#include <fmt/format.h>

#include <filesystem>

#include "kimesh/data/dataset.h"
#include "kimesh/objective/plugin_model.h"
#include "kimesh/run/run_config.h"

namespace kimesh {
namespace {

Problem missing(const RunConfig& config, const std::string& key, const NeededFile& file) {
  return {config.places.file(), config.places.line(key),
          fmt::format("there is no {} {}, which {} asks for", file.is_folder ? "folder" : "file",
                      file.path, key),
          file.remedy + "; a relative path counts from the config file's folder"};
}

void look_for(const RunConfig& config, const std::string& key, const NeededFile& file,
              std::vector<Problem>& problems) {
  if (!is_there(file)) problems.push_back(missing(config, key, file));
}

}  // namespace

std::vector<Problem> missing_files(const RunConfig& config) {
  std::vector<Problem> problems;
  if (config.quadratic) {
    if (!config.quadratic->path.empty())
      look_for(config, "quadratic.path",
               {config.quadratic->path, false, "Name a CSV file of node,j,a,b"}, problems);
    return problems;
  }
  if (const PluginOptions* plugin = config.plugin())
    return open_plugin(plugin->library, config.places).problems;
  if (!config.trains_a_model()) return problems;
  if (const std::string file = config.model.kind->file(); !file.empty())
    look_for(config, "model.file", {file, false, "Name a file of the model's kind"}, problems);
  if (!config.model.weights.empty())
    look_for(config, "model.weights",
             {config.model.weights, false, "Name a file of safetensors, such as a run's model"},
             problems);
  for (const NeededFile& file : missing_data(*config.data.kind))
    problems.push_back(missing(config, "data." + file.key, file));
  return problems;
}

}  // namespace kimesh
