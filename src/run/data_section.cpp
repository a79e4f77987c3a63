#include <fmt/format.h>

#include <algorithm>

#include "config_reader.h"
#include "kimesh/config/map_reader.h"
#include "limits.h"

namespace kimesh {
namespace {

void read_split(MapReader& reader, DataConfig& data, Complaints& complaints) {
  const YamlMember* member = reader.find("split");
  if (member == nullptr) return;
  data.split_line = member->line;
  if (member->value.kind == YamlValue::Kind::kMap) {
    MapReader split(complaints, member->value, "data.split", {"dirichlet"});
    split.require("dirichlet", "a concentration, such as split: {dirichlet: 0.3}");
    data.split = SplitKind::kDirichlet;
    split.read("dirichlet", data.dirichlet, {limits::kDirichletMin, limits::kDirichletMax});
    return;
  }
  const std::string& text = member->value.text;
  if (text == "even")
    data.split = SplitKind::kEven;
  else if (text == "weights")
    data.split = SplitKind::kWeights;
  else if (text == "by_label")
    data.split = SplitKind::kByLabel;
  else
    reader.complain("split", fmt::format("data.split is {}", kind_name(member->value)),
                    "Write one of: even, weights, by_label, {dirichlet: 0.3}");
}

void read_accumulate(MapReader& reader, DataConfig& data) {
  reader.read_whole("accumulate", data.accumulate, {1, double{limits::kBatchMax}});
  if (data.batch % data.accumulate != 0)
    reader.complain(
        "accumulate",
        fmt::format("a batch of {} cannot be cut in {} equal parts", data.batch, data.accumulate),
        "Write a number that divides data.batch");
}

void read_path(MapReader& reader, std::string_view key, std::string& path,
               const Complaints& complaints) {
  reader.read(key, path);
  if (!path.empty()) path = path_beside(complaints.file(), path);
}

void read_share(MapReader& reader, DataConfig& data) {
  reader.read("test_share", data.test_share, {limits::kTestShareMin, limits::kTestShareMax});
}

// The test set is at a path of its own, or else a share.
void read_test(MapReader& reader, DataConfig& data, const Complaints& complaints) {
  read_path(reader, "test", data.test_path, complaints);
  if (data.test_path.empty()) return read_share(reader, data);
  reader.refuse({"test_share"}, "test, which names the test set");
  data.test_share = 0;
}

// The test set is in files that the format knows by name, unless a share is asked for.
void read_test_files(MapReader& reader, DataConfig& data) {
  data.test_share = 0;
  read_share(reader, data);
}

void read_text(MapReader& reader, DataConfig& data) {
  reader.choose("tokens", data.tokens,
                {{"character", TokenKind::kCharacter}, {"word", TokenKind::kWord}});
  reader.read("length", data.length, {1, double{limits::kTextLengthMax}});
  reader.read("count_min", data.count_min, {1, kRoundsMax});
  reader.read("vocabulary_max", data.vocabulary_max, {2, double{limits::kVocabularyMax}});
  read_share(reader, data);
}

void read_csv(MapReader& reader, DataConfig& data, const Complaints& complaints) {
  reader.require("label", "label: with the column of the class, by name or by number from 1");
  reader.read("label", data.label);
  reader.choose("header", data.header, {{"true", true}, {"false", false}});
  read_test(reader, data, complaints);
}

void read_image_folder(MapReader& reader, DataConfig& data, const Complaints& complaints) {
  std::vector<std::int64_t> size;
  reader.read("size", size, {1, double{limits::kSideMax}}, 2);
  if (size.size() == 1)
    reader.complain("size", "data.size holds one number", "Write height and width: size: [64, 64]");
  if (size.size() == 2) data.height = size[0], data.width = size[1];
  read_test(reader, data, complaints);
}

struct KindKeys {
  DataKind kind;
  std::string_view name;
  std::string_view path;               // what `path` should hold; empty: there is none
  std::vector<std::string_view> keys;  // beside those of every kind
};

const std::vector<KindKeys>& kinds() {
  static const std::vector<KindKeys> all = {
      {DataKind::kDigits, "digits", "", {"test_share"}},
      {DataKind::kCifar10, "cifar10", "the folder that holds data_batch_1.bin", {"path"}},
      {DataKind::kIdx,
       "idx",
       "the folder that holds train-images-idx3-ubyte",
       {"path", "test_share"}},
      {DataKind::kText,
       "text",
       "the text file",
       {"path", "test_share", "tokens", "length", "count_min", "vocabulary_max"}},
      {DataKind::kCsv, "csv", "the CSV file", {"path", "test", "test_share", "label", "header"}},
      {DataKind::kNpy,
       "npy",
       "the folder that holds images.npy and labels.npy",
       {"path", "test_share"}},
      {DataKind::kImageFolder,
       "image_folder",
       "the folder with a folder of images for each class",
       {"path", "test", "test_share", "size"}},
  };
  return all;
}

void refuse_foreign(MapReader& reader, const KindKeys& kind) {
  for (const std::string_view key : {"path", "test", "test_share", "tokens", "length", "count_min",
                                     "vocabulary_max", "label", "header", "size"}) {
    if (std::ranges::find(kind.keys, key) != kind.keys.end()) continue;
    std::string reason = fmt::format("kind: {}", kind.name);
    if (kind.kind == DataKind::kDigits && key == "path") reason += ", which are built in";
    if (kind.kind == DataKind::kCifar10 && key == "test_share")
      reason += ", whose test set is a file of its own";
    reader.refuse({key}, reason);
  }
}

void read_kind(MapReader& reader, DataConfig& data, const Complaints& complaints) {
  switch (data.kind) {
    case DataKind::kDigits:
      return read_share(reader, data);
    case DataKind::kCifar10:
      data.test_share = 0;
      return;
    case DataKind::kIdx:
    case DataKind::kNpy:
      return read_test_files(reader, data);
    case DataKind::kText:
      return read_text(reader, data);
    case DataKind::kCsv:
      return read_csv(reader, data, complaints);
    case DataKind::kImageFolder:
      return read_image_folder(reader, data, complaints);
  }
}

// Of what the kind alone reads.
std::string canonical_kind(const DataConfig& data) {
  const auto kind = std::ranges::find(kinds(), data.kind, &KindKeys::kind);
  std::string text = fmt::format("data {}", kind->name);
  if (data.test_share > 0) text += fmt::format(" test {}", data.test_share);
  if (data.kind == DataKind::kText)
    text += fmt::format(" {} length {} count_min {} vocabulary_max {}",
                        data.tokens == TokenKind::kWord ? "word" : "character", data.length,
                        data.count_min, data.vocabulary_max);
  if (data.kind == DataKind::kCsv)
    text += fmt::format(" label {} header {}", data.label, data.header);
  if (data.kind == DataKind::kImageFolder)
    text += fmt::format(" size {} {}", data.height, data.width);
  return text;
}

}  // namespace

void read_data(const YamlValue& value, DataConfig& data, Complaints& complaints) {
  MapReader reader(complaints, value, "data",
                   {"kind", "path", "batch", "accumulate", "split", "test", "test_share", "tokens",
                    "length", "count_min", "vocabulary_max", "label", "header", "size"});
  reader.require("kind", "kind: digits");
  reader.read_whole("batch", data.batch, {1, double{limits::kBatchMax}});
  read_accumulate(reader, data);
  read_split(reader, data, complaints);
  std::vector<std::pair<std::string_view, DataKind>> choices;
  for (const KindKeys& kind : kinds()) choices.emplace_back(kind.name, kind.kind);
  if (!reader.choose("kind", data.kind, choices)) return;
  const auto kind = std::ranges::find(kinds(), data.kind, &KindKeys::kind);
  if (!kind->path.empty()) {
    reader.require("path", fmt::format("path: with {}", kind->path));
    read_path(reader, "path", data.path, complaints);
  }
  refuse_foreign(reader, *kind);
  read_kind(reader, data, complaints);
}

std::string canonical(const DataConfig& data) {
  std::string text = canonical_kind(data);
  text += fmt::format(" batch {} accumulate {} split ", data.batch, data.accumulate);
  switch (data.split) {
    case SplitKind::kEven:
      return text + "even\n";
    case SplitKind::kWeights:
      return text + "weights\n";
    case SplitKind::kByLabel:
      return text + "by_label\n";
    case SplitKind::kDirichlet:
      return text + fmt::format("dirichlet {}\n", data.dirichlet);
  }
  return text;
}

}  // namespace kimesh
