#include "machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace kimesh::cli {
namespace {

// ssh gives up a machine that cannot be reached after 15 s, and one that stops answering after a
// minute. The user's options stand before these, since ssh takes the first value of an option.
constexpr const char* kOptions[]{"-T",
                                 "-o",
                                 "BatchMode=yes",
                                 "-o",
                                 "ConnectTimeout=15",
                                 "-o",
                                 "ServerAliveInterval=15",
                                 "-o",
                                 "ServerAliveCountMax=4"};

}  // namespace

std::string shell_word(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./:,+@%").find(c) != std::string_view::npos;
  });
  if (is_plain && !text.empty()) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

bool Machine::operator==(const Machine& other) const {
  return host_.ssh == other.host_.ssh && host_.folder == other.host_.folder &&
         host_.options == other.host_.options;
}

Command Machine::command(const std::string& script) const {
  Command words{"ssh"};
  words.insert(words.end(), host_.options.begin(), host_.options.end());
  words.insert(words.end(), std::begin(kOptions), std::end(kOptions));
  const std::string folder = shell_word(host_.folder);
  const std::string whole =
      fmt::format("umask 077; mkdir -p {0} && cd {0} || exit 1\n{1}", folder, script);
  // Whatever shell the user has there, sh reads the script.
  words.insert(words.end(), {"--", host_.ssh, "exec sh -c " + shell_word(whole)});
  return words;
}

Result<std::string> Machine::ask(const std::string& script) const {
  auto answer = run_pipeline({command(script)});
  if (!answer) return failed(answer.error());
  return answer;
}

Status Machine::send(const Command& tar, const std::string& script, bool packed,
                     const std::function<void(std::uint64_t)>& passed) const {
  std::vector<Command> commands{tar};
  if (packed) commands.push_back({"gzip", "-1"});
  commands.push_back(command(script));
  const auto done = run_pipeline(commands, passed);
  return done ? ok_status() : Status(failed(done.error()));
}

Status Machine::fetch(const std::string& script, const std::string& into) const {
  const auto done =
      run_pipeline({command(script),
                    {"tar", "-xf", "-", "-C", into, "--no-same-owner", "--no-same-permissions"}});
  return done ? ok_status() : Status(failed(done.error()));
}

Error Machine::failed(const Error& error) const {
  return {error.code, fmt::format("{}: {}", host_.ssh, error.message)};
}

}  // namespace kimesh::cli
