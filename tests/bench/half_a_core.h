// Half a core for a process, whatever else the machine does.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace kimesh::bench {

// A group of the CPU controller that gives its processes half a core, gone at the end.
class HalfACore {
 public:
  HalfACore() {
    namespace fs = std::filesystem;
    const std::string name = "/kimesh-bench-" + std::to_string(::getpid());
    for (const char* root :
         {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"}) {
      remove_those_left_in(root);
      const std::string folder = root + name;
      std::error_code code;
      if (!fs::create_directory(folder, code)) continue;
      folder_ = folder;
      if (!fs::exists(folder + "/cgroup.procs")) leave();  // no file system of groups
      if (write("cpu.cfs_period_us", "100000") && write("cpu.cfs_quota_us", "50000")) return;
      if (write("cpu.max", "50000 100000")) return;
      leave();
    }
  }
  HalfACore(const HalfACore&) = delete;
  HalfACore& operator=(const HalfACore&) = delete;
  ~HalfACore() { leave(); }
  // False: there is no such group here, or the process could not be put into it.
  [[nodiscard]] bool take(pid_t process) const {
    return write("cgroup.procs", std::to_string(process));
  }

 private:
  // Of a benchmark that was killed. One that has processes stays.
  static void remove_those_left_in(const std::string& root) {
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(root, code))
      if (entry.path().filename().string().starts_with("kimesh-bench-"))
        ::rmdir(entry.path().c_str());
  }
  [[nodiscard]] bool write(const char* file, const std::string& text) const {
    if (folder_.empty()) return false;
    std::ofstream out(folder_ + "/" + file);
    out << text << std::flush;
    return static_cast<bool>(out);
  }
  void leave() {
    if (!folder_.empty()) ::rmdir(std::exchange(folder_, "").c_str());
  }
  std::string folder_;
};

}  // namespace kimesh::bench
