#include "kimesh/config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "limits.h"

namespace kimesh {
namespace {

// Thrown through yaml-cpp's parser and caught in read_yaml: it has no other way to be stopped.
struct Refused {
  int line;
  const char* message;
  const char* remedy;
};

// Builds the tree from the parser's events. `open_` holds the lists and maps not yet closed.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlValue take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    put({YamlValue::Kind::kNothing, mark.line + 1, {}, {}, {}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark.line + 1, "an alias (*name) is not supported here",
                  "Write the value itself"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    put({YamlValue::Kind::kText, mark.line + 1, value, {}, {}});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(YamlValue::Kind::kList, mark.line + 1);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(YamlValue::Kind::kMap, mark.line + 1);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlValue value;
    bool has_key = false;
    YamlMember member;
  };

  void open(YamlValue::Kind kind, int line) {
    if (open_.size() == limits::kYamlDepthMax)
      throw Refused{line, "lists and maps are nested too deeply", "Write it with fewer levels"};
    open_.push_back({{kind, line, {}, {}, {}}, false, {}});
  }

  void close() {
    YamlValue value = std::move(open_.back().value);
    open_.pop_back();
    put(std::move(value));
  }

  void put(YamlValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == YamlValue::Kind::kList) {
      parent.value.items.push_back(std::move(value));
    } else if (!parent.has_key) {
      if (value.kind != YamlValue::Kind::kText)
        throw Refused{value.line, "a key is not a plain word", "Write NAME: VALUE"};
      parent.member.key = std::move(value.text);
      parent.member.line = value.line;
      parent.has_key = true;
    } else {
      // The parser notices that nothing came only where the next thing begins.
      if (value.kind == YamlValue::Kind::kNothing) value.line = parent.member.line;
      parent.member.value = std::move(value);
      parent.value.members.push_back(std::exchange(parent.member, {}));
      parent.has_key = false;
    }
  }

  YamlValue root_;
  std::vector<Open> open_;
};

// The parser quotes characters of the file as they are, line feeds and worse among them.
std::string in_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  return text;
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, std::size_t bytes_max,
                                     std::string& why) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    why = "it is a folder";
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    why = std::strerror(errno);
    return std::nullopt;
  }
  constexpr std::size_t kStep = 1 << 16;  // most files are smaller
  std::string text;
  while (in && text.size() <= bytes_max) {
    const std::size_t before = text.size();
    text.resize(before + std::min(kStep, bytes_max + 1 - before));
    in.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) {
    why = "the disk does not give it";
    return std::nullopt;
  }
  if (text.size() > bytes_max) {
    why = fmt::format("it is larger than {} bytes", bytes_max);
    return std::nullopt;
  }
  return text;
}

std::string path_beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

std::string resolve_path(const std::string& path, const Complaints& complaints) {
  std::string beside = path_beside(complaints.file(), path);
  std::error_code ignored;
  if (complaints.copied_from().empty() || std::filesystem::exists(beside, ignored)) return beside;
  return path_beside(complaints.copied_from(), path);
}

std::optional<YamlValue> read_yaml(const std::string& path, Complaints& complaints) {
  std::string why;
  const auto text = read_text(path, limits::kYamlBytesMax, why);
  if (!text) {
    complaints.add(0, fmt::format("the file cannot be read: {}", why), "Check the path");
    return std::nullopt;
  }
  return parse_yaml(*text, complaints);
}

std::optional<YamlValue> parse_yaml(const std::string& text, Complaints& complaints) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    TreeBuilder builder;
    if (!parser.HandleNextDocument(builder)) {
      complaints.add(0, "the file is empty", "Copy one of the shipped files and change it");
      return std::nullopt;
    }
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      complaints.add(second.take().line, "a second document begins (---)",
                     "Write one document per file");
      return std::nullopt;
    }
    return builder.take();
  } catch (const Refused& refused) {
    complaints.add(refused.line, refused.message, refused.remedy);
  } catch (const YAML::Exception& error) {
    complaints.add(error.mark.is_null() ? 0 : error.mark.line + 1,
                   fmt::format("this is not YAML: {}", in_one_line(error.msg)),
                   "Mend the indentation (spaces, no tabs), brackets or quotes here or just above");
  } catch (const std::exception& error) {
    complaints.add(0, fmt::format("this is not YAML: {}", in_one_line(error.what())),
                   "Mend the file");
  }
  return std::nullopt;
}

}  // namespace kimesh
