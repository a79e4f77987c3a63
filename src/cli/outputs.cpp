#include "outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "kimesh/mesh/mesh.h"

namespace kimesh::cli {
namespace {

namespace fs = std::filesystem;

// Whether two folders, which may be missing, are one.
bool is_same_place(const fs::path& a, const fs::path& b) {
  std::error_code unknown;
  const auto whole = [&](const fs::path& path) {
    return (fs::weakly_canonical(fs::absolute(path, unknown), unknown) / "").lexically_normal();
  };
  return whole(a) == whole(b);
}

Error refused(const std::string& option, const std::string& path, const std::string& why,
              const char* remedy) {
  return {ErrorCode::kUserInput,
          fmt::format("{}: {} cannot be written: {}. {}.", option, path, why, remedy)};
}

// Why a process may not make files in a folder; 0: it may.
int lacks_access(const std::string& folder) {
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

// The folder that the command makes; empty: none, or one whose name is made up.
std::string new_run_of(const Output& output) {
  return output.new_run.empty() ? "" : NewRunFolder().parent + "/" + output.new_run;
}

// Why an output must not be written over what is there; empty: it may be.
std::string loss(const Output& output) {
  if (is_one_of(output.path, output.inputs)) return "it is one of the files that are read";
  std::vector<std::string> runs = output.runs;
  runs.push_back(new_run_of(output));
  for (const std::string& run : runs)
    if (!run.empty() && RunFolder(run).owns(output.path))
      return fmt::format("it is a file of the run in {}", run);
  std::error_code none;
  const auto bytes = fs::file_size(output.path, none);
  if (none || bytes == 0 || output.path.ends_with(output.ending)) return "";
  return fmt::format("it is there already, and is no {} file by its name", output.ending);
}

}  // namespace

bool is_one_of(const std::string& path, const std::vector<std::string>& files) {
  return std::ranges::any_of(files, [&](const std::string& file) {
    std::error_code one_is_new;
    return fs::equivalent(path, file, one_is_new);
  });
}

Status check_output(const Output& output) {
  if (output.path.empty()) return ok_status();
  const auto refuse = [&](const std::string& why) {
    return refused(output.option, output.path, why,
                   "Name a file in a folder that is there, and to which you may write");
  };
  std::error_code failed;
  const auto there = fs::status(output.path, failed);
  if (fs::is_directory(there)) return refuse("it is a folder");
  if (fs::exists(there) && !fs::is_regular_file(there)) return refuse("it is no regular file");
  // It gets its name once it is written under a longer one.
  if (!fs::status_known(fs::status(output.path + ".tmp", failed))) return refuse(failed.message());
  const fs::path folder = fs::path(output.path).parent_path();
  const std::string place = folder.empty() ? "." : folder / "";
  const fs::path new_run = new_run_of(output);
  if (const std::string why = loss(output); !why.empty())
    return refused(output.option, output.path, why, "Name another file");
  const int why = lacks_access(place);
  const bool will_be_made = is_same_place(folder, NewRunFolder().parent) ||
                            (!new_run.empty() && is_same_place(folder, new_run));
  if (why == 0 || (why == ENOENT && will_be_made)) return ok_status();
  return refuse(fmt::format("{}: {}", place, std::strerror(why)));
}

Status check_output_folder(const std::string& option, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return refused(option, path, why, "Name a folder that you may make or write to");
  };
  std::error_code failed;
  fs::path place = fs::absolute(path, failed).lexically_normal();
  for (;;) {  // up to the nearest one that is there
    const auto there = fs::status(place, failed);
    if (fs::is_directory(there)) break;
    if (fs::exists(there)) return refuse(place.string() + " is no folder");
    if (!fs::status_known(there)) return refuse(failed.message());
    place = place.parent_path();
  }
  const int why = lacks_access(place.string());
  return why == 0 ? ok_status()
                  : Status(refuse(fmt::format("{}: {}", place.string(), std::strerror(why))));
}

}  // namespace kimesh::cli
