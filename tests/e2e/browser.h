// A headless Chromium in a test, driven by the DevTools protocol over two pipes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace kimesh::test {

// Empty: there is none in PATH.
inline std::string chromium_program() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"chromium-headless-shell", "chromium", "google-chrome"})
      if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return "";
}

class Browser {
 public:
  using Json = nlohmann::json;

  // `profile` is an empty folder.
  Browser(const std::string& program, const std::string& profile) {
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    process_ = ::fork();
    if (process_ == 0) become(program, "--user-data-dir=" + profile, to[0], from[1]);
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~Browser() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(to_);
    ::close(from_);
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void open(const std::string& url) {
    const Json target =
        call("Target.createTarget", {{"url", "about:blank"}, {"width", 1200}, {"height", 1600}});
    session_ = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})
                   .value("sessionId", "");
    call("Page.enable", Json::object());
    call("Page.navigate", {{"url", url}});
  }

  // The value of a JavaScript expression; of a promise, what it comes to.
  Json evaluate(const std::string& expression) {
    const Json answer =
        call("Runtime.evaluate",
             {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    if (answer.contains("exceptionDetails")) ADD_FAILURE() << expression << "\n" << answer;
    return answer.contains("result") && answer["result"].contains("value")
               ? answer["result"]["value"]
               : Json(nullptr);
  }

  // Waits until the expression holds, asked once a frame.
  bool becomes(const std::string& expression) {
    return evaluate(
               "new Promise(done => { const end = Date.now() + 60000; const look = () => {"
               "let holds = false; try { holds = " +
               expression +
               "; } catch (e) {}"
               "if (holds || Date.now() > end) return done(!!holds);"
               "requestAnimationFrame(look); }; look(); })") == true;
  }

 private:
  static constexpr int kIn = 3, kOut = 4;  // where Chromium hears and says
  static constexpr std::chrono::seconds kBrowserPatience{100};

  [[noreturn]] static void become(const std::string& program, const std::string& profile, int in,
                                  int out) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Both may have these very numbers.
    const int safe_in = ::fcntl(in, F_DUPFD, 10), safe_out = ::fcntl(out, F_DUPFD, 10);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
    ::dup2(safe_in, kIn);
    ::dup2(safe_out, kOut);
    // A sandbox needs rights that containers do not give; the page is our own.
    ::execl(program.c_str(), program.c_str(), "--headless", "--no-sandbox", "--disable-gpu",
            "--remote-debugging-pipe", "--no-first-run", profile.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }

  Json call(const std::string& method, const Json& params) {
    Json request{{"id", ++id_}, {"method", method}, {"params", params}};
    if (!session_.empty()) request["sessionId"] = session_;
    const std::string text = request.dump() + '\0';
    if (::write(to_, text.data(), text.size()) != ssize_t(text.size())) return Json::object();
    for (;;) {
      const std::string message = next_message();
      if (message.empty()) return Json::object();
      const Json answer = Json::parse(message, nullptr, false);
      if (answer.is_discarded() || answer.value("id", 0) != id_) continue;
      return answer.contains("result") ? answer["result"] : answer;
    }
  }

  // Empty: the browser has ended, or patience is over.
  std::string next_message() {
    for (;;) {
      if (const std::size_t end = heard_.find('\0'); end != std::string::npos) {
        const std::string message = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        return message;
      }
      pollfd ready{from_, POLLIN, 0};
      std::array<char, 65536> bytes;
      const int patience = static_cast<int>(std::chrono::milliseconds(kBrowserPatience).count());
      const ssize_t size =
          ::poll(&ready, 1, patience) > 0 ? ::read(from_, bytes.data(), bytes.size()) : 0;
      if (size <= 0) {
        ADD_FAILURE() << "the browser says nothing any more";
        return "";
      }
      heard_.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }

  pid_t process_ = -1;
  int to_ = -1, from_ = -1, id_ = 0;
  std::string session_, heard_;
};

}  // namespace kimesh::test
