// Another machine that is reached over ssh: runs scripts there, and copies files there and back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kimesh/run/hosts_file.h"
#include "kimesh/util/result.h"
#include "pipeline.h"

namespace kimesh::cli {

// Quotes a text where a shell would not take it as one word as it stands.
[[nodiscard]] std::string shell_word(const std::string& text);

// Scripts are written for POSIX sh and run in the machine's folder, which is made where it is
// missing. Files that they make can be read by their user alone. ssh does not ask for a password.
// Errors of all calls: Io, with the last output of ssh or of the script.
class Machine {
 public:
  explicit Machine(const HostSpec& host) : host_(host) {}

  [[nodiscard]] const std::string& name() const { return host_.ssh; }
  [[nodiscard]] const std::string& folder() const { return host_.folder; }
  // Whether both are the same folder of the same machine, reached with the same options.
  [[nodiscard]] bool operator==(const Machine& other) const;

  // The command that runs the script there. Its input and output are those of the script.
  [[nodiscard]] Command command(const std::string& script) const;
  // Runs the script, and returns what it prints.
  [[nodiscard]] Result<std::string> ask(const std::string& script) const;
  // Runs the script with the output of `tar` as its input, which gzip compresses where `packed`.
  // `passed`: as in run_pipeline; it counts bytes before they are compressed.
  [[nodiscard]] Status send(const Command& tar, const std::string& script, bool packed,
                            const std::function<void(std::uint64_t)>& passed = nullptr) const;
  // Unpacks the tar file that the script prints into a folder of this machine.
  [[nodiscard]] Status fetch(const std::string& script, const std::string& into) const;

 private:
  [[nodiscard]] Error failed(const Error& error) const;
  HostSpec host_;
};

}  // namespace kimesh::cli
