// The program on a terminal, as somebody sees it who sits there.
#pragma once

#include <pty.h>

#include <array>

#include "tests/e2e/program.h"

namespace kimesh::test {

struct OnTerminal {
  int code = -1;
  std::string shown;
};

// Types the answers and then the end of the file, on 80 columns and 24 rows.
inline OnTerminal on_terminal(const Scratch& scratch, std::vector<std::string> words,
                              std::string answers = "") {
  answers += '\x04';
  words.insert(words.begin(), "kimesh");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const winsize size{24, 80, 0, 0};
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::chdir(scratch.path().c_str()) == 0) ::execv(KIMESH_BINARY, pointers.data());
    ::_exit(127);
  }
  EXPECT_EQ(::write(terminal, answers.data(), answers.size()),
            static_cast<ssize_t>(answers.size()));
  OnTerminal ended;
  std::array<char, 4096> some{};
  for (;;) {  // ends with an error once the process has closed the terminal
    const ssize_t count = ::read(terminal, some.data(), some.size());
    if (count <= 0) break;
    ended.shown.append(some.data(), static_cast<std::size_t>(count));
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  ::close(terminal);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

}  // namespace kimesh::test
