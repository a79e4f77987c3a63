// What a kind of data is to the rest of kimesh. A kind is one file in src/data (name, keys, which
// files it needs, how it is opened) and one line in its table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/config/kind_table.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct OpenedData;

// A file or folder that must be there before data can be read.
struct NeededFile {
  std::string path;
  bool is_folder = false;
  std::string remedy;        // what to do where it is not; without a full stop
  std::string key = "path";  // of the section data, that names it
};

class DataKind : public KindOptions {
 public:
  // ---- traits, known before anything is read
  // Samples are tokens, else images or rows of numbers.
  [[nodiscard]] virtual bool holds_text() const { return false; }
  // The shorter side of its images, in pixels, where all data of this kind have the same.
  [[nodiscard]] virtual std::optional<std::int64_t> image_side() const { return std::nullopt; }

  // Files without which open() fails, a folder before what is in it. Relative to the process.
  [[nodiscard]] virtual std::vector<NeededFile> files() const { return {}; }

  // Errors: UserInput (a file is missing or broken), naming it and, of csv and text, the line.
  [[nodiscard]] virtual Result<OpenedData> open() const = 0;
};

[[nodiscard]] KindTable<DataKind>& data_kinds();

}  // namespace kimesh
