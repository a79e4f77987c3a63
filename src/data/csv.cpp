// kind: csv. A table: a line a sample, one column the class, the others numbers, which are brought
// to mean 0 and deviation 1 of the training rows. Fields are separated by commas; a field may stand
// in double quotes, without a line's end in it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "byte_file.h"
#include "kimesh/util/readable.h"
#include "stored_samples.h"
#include "test_set.h"

namespace kimesh {
namespace {

constexpr std::size_t kLineBytesMax = 16 << 20;  // a million features

using Fields = std::vector<std::string>;
// Called for each sample with its number and its line's; stops at the first trouble.
using EachRow = std::function<Status(std::uint64_t row, std::uint64_t line, const Fields&)>;

Fields split_line(const std::string& line) {
  Fields fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back().push_back(c);
  }
  for (std::string& field : fields) {
    const std::size_t begin = field.find_first_not_of(" \t");
    const std::size_t end = field.find_last_not_of(" \t");
    field = begin == field.npos ? "" : field.substr(begin, end - begin + 1);
  }
  return fields;
}

template <typename T>
std::optional<T> parsed(const std::string& text) {
  T value{};
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// A number as float32; nothing: it is none, or float32 cannot hold it. What is smaller than float32
// can tell from 0 is rounded, as NumPy and PyTorch do.
std::optional<float> parsed_float32(const std::string& text) {
  auto value = parsed<float>(text);  // rounds once
  if (!value) {
    const auto wide = parsed<double>(text);
    if (wide && std::abs(*wide) < 1) value = static_cast<float>(*wide);
  }
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Classes in the order of their numbers, or of their names where one is no number.
std::vector<std::string> ordered_names(const std::map<std::string, std::uint32_t>& found) {
  std::vector<std::string> names;
  for (const auto& entry : found) names.push_back(entry.first);
  const bool numbers =
      std::ranges::all_of(names, [](const auto& name) { return parsed<double>(name).has_value(); });
  if (numbers)
    std::ranges::stable_sort(names, {}, [](const auto& name) { return *parsed<double>(name); });
  return names;
}

class CsvSamples : public StoredSamples {
 public:
  CsvSamples(std::string path, std::string label, bool header)
      : path_(std::move(path)), label_(std::move(label)), header_(header) {}

  const SampleShape& shape() const override { return shape_; }
  const SampleClasses& classes() const override { return classes_; }

  // Reads the labels. `training`: an open file, whose classes and names of columns this one has;
  // null: those that are found.
  Status open(const CsvSamples* training) {
    training_ = training;
    const std::vector<std::string>* known = training != nullptr ? &training->names_ : nullptr;
    std::map<std::string, std::uint32_t> found;
    std::vector<const std::string*> labels;  // nodes of a map stay where they are
    const Status read = each_row([&](std::uint64_t row, std::uint64_t line, const Fields& fields) {
      if (row >= kStoredSamplesMax) return refuse(line, "there are too many samples");
      const std::string& name = fields[column_];
      if (known != nullptr && std::ranges::find(*known, name) == known->end())
        return refuse(line, fmt::format("the class '{}' is not in the training set", name));
      labels.push_back(&found.try_emplace(name, 0).first->first);
      if (found.size() > static_cast<std::size_t>(kClassesMax))
        return refuse(line, fmt::format("there are over {} classes", kClassesMax));
      return ok_status();
    });
    if (!read.ok()) return read;
    names_ = known != nullptr ? *known : ordered_names(found);
    if (names_.size() < 2) return refuse(0, "there are fewer than two classes");
    for (std::uint32_t i = 0; i < names_.size(); ++i)
      if (const auto at = found.find(names_[i]); at != found.end()) at->second = i;
    for (const std::string* label : labels)
      classes_.labels.push_back(static_cast<std::uint16_t>(found[*label]));
    classes_.classes = shape_.classes = static_cast<std::int64_t>(names_.size());
    shape_.channels = static_cast<std::int64_t>(columns_ - 1);
    shape_.height = shape_.width = 1;
    training_ = nullptr;
    return ok_status();
  }

  // Mean 0 and deviation 1 over `training` (Welford's sums). A column that never changes becomes 0.
  // One that changes by less than float32 can divide by is taken for such a column.
  Result<SampleScale> scale(std::span<const std::uint32_t> training) const override {
    std::vector<bool> counts(classes_.samples());
    for (const std::uint32_t sample : training) counts[sample] = true;
    std::vector<double> mean(columns_ - 1), squares(columns_ - 1);
    double seen = 0;
    std::vector<float> values;
    const Status read = each_row([&](std::uint64_t row, std::uint64_t line, const Fields& fields) {
      if (row >= counts.size() || !counts[row]) return ok_status();
      if (const Status status = features(line, fields, values); !status.ok()) return status;
      ++seen;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double difference = values[i] - mean[i];
        mean[i] += difference / seen;
        squares[i] += difference * (values[i] - mean[i]);
      }
      return ok_status();
    });
    if (!read.ok()) return read.error();
    SampleScale scale;
    constexpr double kDeviationMin = 1.0 / std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double deviation = std::sqrt(squares[i] / seen);
      scale.scale.push_back(static_cast<float>(deviation > kDeviationMin ? 1 / deviation : 1));
      scale.offset.push_back(static_cast<float>(-mean[i] * scale.scale.back()));
    }
    return scale;
  }

  Status read(std::span<const std::uint32_t> samples, Dataset& out) const override {
    std::unordered_map<std::uint64_t, std::size_t> places;  // sample → its place in `out`
    for (const std::uint32_t sample : samples) places.emplace(sample, places.size());
    out.values.resize(samples.size() * (columns_ - 1));
    std::vector<float> values;
    std::size_t found = 0;
    const Status read = each_row([&](std::uint64_t row, std::uint64_t line, const Fields& fields) {
      const auto place = places.find(row);
      if (place == places.end()) return ok_status();
      if (const Status status = features(line, fields, values); !status.ok()) return status;
      ++found;
      std::ranges::copy(
          values, out.values.begin() + static_cast<std::ptrdiff_t>(place->second * values.size()));
      return ok_status();
    });
    if (!read.ok()) return read;
    return found == samples.size() ? ok_status() : refuse(0, "the file has become shorter");
  }

 private:
  Status refuse(std::uint64_t line, const std::string& why,
                const std::string& remedy =
                    "Write lines of numbers and one class, separated by commas") const {
    const std::string where = line == 0 ? path_ : fmt::format("{}:{}", path_, line);
    return refused_file(where, why, remedy);
  }

  Status each_row(const EachRow& take) const {
    const auto why = why_unreadable(path_);
    std::ifstream file;
    if (!why) file.open(path_);
    if (!file.is_open())
      return refused_file(path_,
                          fmt::format("the file cannot be read ({})", why.value_or("it is gone")),
                          "Name a CSV file that is there and that you may read");
    std::string line;
    std::uint64_t row = 0, number = 0;
    while (next_line(file, line)) {
      if (++number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
      if (line.size() > kLineBytesMax) return refuse(number, "the line is too long");
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      const Fields fields = split_line(line);
      if (columns_ == 0) {
        if (const Status found = find_columns(number, fields); !found.ok()) return found;
      }
      if (header_ && number == header_line_) continue;
      if (fields.size() != columns_)
        return refuse(number, fmt::format("it has {} fields, but the first line has {}",
                                          fields.size(), columns_));
      if (const Status status = take(row, number, fields); !status.ok()) return status;
      ++row;
    }
    return row > 0 ? ok_status() : refuse(0, "it holds no samples");
  }

  // A line without its end, never much longer than a line may be.
  static bool next_line(std::ifstream& file, std::string& line) {
    line.clear();
    auto* buffer = file.rdbuf();
    for (int c = buffer->sbumpc(); c != std::char_traits<char>::eof(); c = buffer->sbumpc()) {
      if (c == '\n' || line.size() > kLineBytesMax) return true;
      line.push_back(static_cast<char>(c));
    }
    return !line.empty();
  }

  // From the first line that is not blank.
  Status find_columns(std::uint64_t line, const Fields& first) const {
    columns_ = first.size();
    header_line_ = line;
    if (columns_ < 2) return refuse(line, "there is only one column");
    if (header_ && training_ != nullptr) return order_columns(line, first);
    if (header_) header_names_ = first;
    order_.resize(columns_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto named = std::ranges::find(first, label_);
    const auto number = parsed<std::size_t>(label_);
    if (header_ && named != first.end())
      column_ = static_cast<std::size_t>(named - first.begin());
    else if (number && *number >= 1 && *number <= columns_)
      column_ = *number - 1;
    else
      return refuse(line, fmt::format("data.label is '{}', which is none of its {} columns", label_,
                                      columns_));
    return ok_status();
  }

  // The training file's columns by their names: where several are alike, the first is the first.
  Status order_columns(std::uint64_t line, const Fields& header) const {
    const std::string remedy = "Give the columns of both files the same names, in any order";
    std::map<std::string, std::vector<std::size_t>> places;  // the first is the last
    for (std::size_t i = header.size(); i-- > 0;) places[header[i]].push_back(i);
    for (const std::string& name : training_->header_names_) {
      auto& left = places[name];
      if (left.empty())
        return refuse(line,
                      fmt::format("it has no column '{}', which {} has", name.substr(0, 60),
                                  training_->path_),
                      remedy);
      order_.push_back(left.back());
      left.pop_back();
    }
    for (const auto& [name, left] : places)
      if (!left.empty())
        return refuse(
            line,
            fmt::format("it has a column '{}' that {} lacks", name.substr(0, 60), training_->path_),
            remedy);
    column_ = order_[training_->column_];
    return ok_status();
  }

  Status features(std::uint64_t line, const Fields& fields, std::vector<float>& values) const {
    values.clear();
    for (const std::size_t i : order_) {
      if (i == column_) continue;
      const auto value = parsed_float32(fields[i]);
      if (!value)
        return refuse(line, fmt::format("'{}' in column {} is no number of float32",
                                        fields[i].substr(0, 60), i + 1));
      values.push_back(*value);
    }
    return ok_status();
  }

  std::string path_, label_;
  bool header_;
  // Found once, in the first pass over the file, which is that of open().
  mutable std::size_t columns_ = 0, column_ = 0;
  mutable std::uint64_t header_line_ = 0;
  mutable Fields header_names_;             // of the training set, where it has a header
  mutable std::vector<std::size_t> order_;  // columns as the training set has them
  const CsvSamples* training_ = nullptr;    // while open() reads
  std::vector<std::string> names_;
  SampleShape shape_;
  SampleClasses classes_;
};

class Csv final : public DataKind {
 public:
  void describe(Keys& keys) override {
    keys.require("path", "path: with the CSV file");
    keys.path("path", path_, "the file");
    keys.require("label", "label: with the column of the class, by name or by number from 1");
    keys.text("label", label_, "column of the class, by name or by number from 1");
    keys.flag("header", header_,
              "the first line names the columns, by which those of a test file are found");
    test_.describe(keys, "file of the test set");
  }

  std::vector<NeededFile> files() const override {
    std::vector<NeededFile> files{{path_, false, "Point data.path at a CSV file"}};
    if (!test_.path.empty())
      files.push_back({test_.path, false, "Point data.test at a CSV file", "test"});
    return files;
  }

  Result<OpenedData> open() const override {
    const auto train = std::make_shared<CsvSamples>(path_, label_, header_);
    if (const Status status = train->open(nullptr); !status.ok()) return status.error();
    if (test_.path.empty()) return OpenedData{train, nullptr, test_.share};
    const auto test = std::make_shared<CsvSamples>(test_.path, label_, header_);
    if (const Status status = test->open(train.get()); !status.ok()) return status.error();
    return OpenedData{train, test};
  }

 private:
  std::string path_, label_;
  bool header_ = true;
  TestSet test_;
};

}  // namespace

extern const Kind<DataKind> kCsv;
const Kind<DataKind> kCsv = {"csv", "a table: a line a sample, one column the class",
                             make_options<Csv, DataKind>};

}  // namespace kimesh
