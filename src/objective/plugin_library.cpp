// A plugin's library, from its path to its table of functions.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "kimesh/objective/plugin_model.h"
#include "plugin_text.h"

namespace kimesh {
namespace {

constexpr const char* kSymbol = "kimesh_model";

// The first function that has to be there and is not; null: all are.
const char* missing_function(const kimesh_plugin& plugin) {
  if (plugin.describe == nullptr) return "describe";
  if (plugin.first_point == nullptr) return "first_point";
  if (plugin.create == nullptr) return "create";
  if (plugin.gradient == nullptr) return "gradient";
  return plugin.destroy == nullptr ? "destroy" : nullptr;
}

// What the loader says, without the path that it begins with: the sentence names it already.
std::string reason_of_loader(const std::string& path) {
  const char* said = ::dlerror();
  std::string reason = one_line(said == nullptr ? "no reason" : said);
  if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
  return reason;
}

// Nothing wrong: an empty message.
Problem problem_of(const kimesh_plugin& plugin, const std::string& library) {
  if (plugin.abi != KIMESH_PLUGIN_ABI)
    return {{},
            0,
            fmt::format("{} was built for version {} of plugin.h, and this kimesh has version {}",
                        library, plugin.abi, KIMESH_PLUGIN_ABI),
            "Build it again with this kimesh's header"};
  if (const char* function = missing_function(plugin))
    return {{},
            0,
            fmt::format("{} leaves {} empty in its {}", library, function, kSymbol),
            "All functions but evaluate have to be there"};
  if (plugin.name == nullptr || !is_plugin_name(plugin.name))
    return {{},
            0,
            fmt::format("{} has no name in its {}", library, kSymbol),
            fmt::format("Give it one of 1 to {} characters from '!' to '~'", kPluginNameMax)};
  return {};
}

Problem problem_of(const std::string& library, const kimesh_plugin*& plugin) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(library, unknown))
    return {{},
            0,
            fmt::format("there is no file {}, which model.library asks for", library),
            "Build it, or name another; a relative path counts from the config file's folder"};
  // The loader would look for a name without a folder in the system's folders.
  const std::string path = std::filesystem::absolute(library).lexically_normal().string();
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return {{},
            0,
            fmt::format("{} cannot be loaded: {}", library, reason_of_loader(path)),
            "Build it as a shared library for this machine, with all that it needs"};
  plugin = static_cast<const kimesh_plugin*>(::dlsym(handle, kSymbol));
  if (plugin == nullptr)
    return {
        {},
        0,
        fmt::format("{} exports no {}", library, kSymbol),
        fmt::format("Define `const kimesh_plugin {}` as kimesh/objective/plugin.h says", kSymbol)};
  return problem_of(*plugin, library);
}

}  // namespace

std::string one_line(const char* text) {
  std::string line(text, ::strnlen(text, kWhyBytes - 1));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  while (line.ends_with(' ') || line.ends_with('.')) line.pop_back();
  return line;
}

bool is_plugin_name(const char* name) {
  const std::size_t size = ::strnlen(name, kPluginNameMax + 1);
  return size > 0 && size <= kPluginNameMax &&
         std::all_of(name, name + size, [](char c) { return c >= '!' && c <= '~'; });
}

Loaded<const kimesh_plugin*> open_plugin(const std::string& library, const Places& places) {
  Loaded<const kimesh_plugin*> loaded;
  Problem problem = problem_of(library, loaded.value);
  if (problem.message.empty()) return loaded;
  problem.file = places.file();
  problem.line = places.line("model.library");
  loaded.value = nullptr;
  loaded.problems.push_back(std::move(problem));
  return loaded;
}

}  // namespace kimesh
