// Another machine, as ssh reaches it: what is run there, and what is copied there and back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kimesh/run/hosts_file.h"
#include "kimesh/util/result.h"
#include "pipeline.h"

namespace kimesh::cli {

// A word that a shell takes as it is.
[[nodiscard]] std::string shell_word(const std::string& text);

// Scripts are of POSIX sh and run in the machine's folder, which is made where it is missing; what
// they make is for its user alone. Nobody is asked for a password. Errors of all calls: Io, with
// the last words of ssh or of the script.
class Machine {
 public:
  explicit Machine(const HostSpec& host) : host_(host) {}

  [[nodiscard]] const std::string& name() const { return host_.ssh; }
  [[nodiscard]] const std::string& folder() const { return host_.folder; }
  // Whether both are one folder of one machine, reached in one way.
  [[nodiscard]] bool operator==(const Machine& other) const;

  // What starts the script there; its input and output are the script's.
  [[nodiscard]] Command command(const std::string& script) const;
  // What the script prints.
  [[nodiscard]] Result<std::string> ask(const std::string& script) const;
  // The script's input is what `tar` writes; `packed`: compressed with gzip. `passed`: as in
  // run_pipeline, of bytes before they are compressed.
  [[nodiscard]] Status send(const Command& tar, const std::string& script, bool packed,
                            const std::function<void(std::uint64_t)>& passed = nullptr) const;
  // Unpacks the tar file that the script prints into a folder of this machine.
  [[nodiscard]] Status fetch(const std::string& script, const std::string& into) const;

 private:
  [[nodiscard]] Error failed(const Error& error) const;
  HostSpec host_;
};

}  // namespace kimesh::cli
