#include <fmt/format.h>

#include "src/config/config_reader.h"
#include "src/config/limits.h"
#include "src/config/map_reader.h"

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

}  // namespace

void read_data(const YamlValue& value, DataConfig& data, Complaints& complaints) {
  MapReader reader(complaints, value, "data",
                   {"kind", "path", "batch", "accumulate", "split", "test_share"});
  reader.require("kind", "kind: digits");
  reader.read_whole("batch", data.batch, {1, double{limits::kBatchMax}});
  read_accumulate(reader, data);
  read_split(reader, data, complaints);
  if (!reader.choose("kind", data.kind,
                     {{"digits", DataKind::kDigits}, {"cifar10", DataKind::kCifar10}}))
    return;
  if (data.kind == DataKind::kCifar10) {
    reader.require("path", "path: with the folder that holds data_batch_1.bin");
    reader.read("path", data.path);
    if (!data.path.empty()) data.path = path_beside(complaints.file(), data.path);
    reader.refuse({"test_share"}, "kind: cifar10, whose test set is a file of its own");
  } else {
    reader.refuse({"path"}, "kind: digits, which are built in");
    reader.read("test_share", data.test_share, {limits::kTestShareMin, limits::kTestShareMax});
  }
}

std::string canonical(const DataConfig& data) {
  std::string text = data.kind == DataKind::kDigits
                         ? fmt::format("data digits test {}", data.test_share)
                         : std::string("data cifar10");
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
