#include "kimesh/data/data_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/config/map_reader.h"
#include "limits.h"

namespace kimesh {

// The tables of data and of splits: a line each.
#define KIMESH_DATA(DATA) \
  DATA(kDigits)           \
  DATA(kCifar10)          \
  DATA(kIdx)              \
  DATA(kText)             \
  DATA(kCsv)              \
  DATA(kNpy)              \
  DATA(kImageFolder)

#define KIMESH_SPLITS(SPLIT) \
  SPLIT(kEvenSplit)          \
  SPLIT(kWeightsSplit)       \
  SPLIT(kByLabelSplit)       \
  SPLIT(kDirichletSplit)

#define DECLARE_DATA(kind) extern const Kind<DataKind> kind;
#define DECLARE_SPLIT(kind) extern const Kind<SplitKind> kind;
#define ENTRY(kind) kind,
KIMESH_DATA(DECLARE_DATA)
KIMESH_SPLITS(DECLARE_SPLIT)

KindTable<DataKind>& data_kinds() {
  static KindTable<DataKind> table("kind of data", {KIMESH_DATA(ENTRY)});
  return table;
}

KindTable<SplitKind>& split_kinds() {
  static KindTable<SplitKind> table("split", {KIMESH_SPLITS(ENTRY)});
  return table;
}

namespace {

using SplitPtr = std::shared_ptr<SplitKind>;

// The keys of the kinds that are written as maps. A key that is given names its kind.
void describe_maps(Keys& keys, const std::vector<SplitPtr>& maps, SplitPtr& split) {
  for (const SplitPtr& kind : maps) {
    if (keys.wants_all()) kind->describe(keys);
    if (keys.is_given(kind->kind_name())) split = kind;
  }
  if (keys.wants_all()) return;
  const bool is_map = std::ranges::find(maps, split) != maps.end();
  (is_map ? split : maps.front())->describe(keys);
}

void describe_split(Keys& keys, SplitPtr& split) {
  const KindTable<SplitKind>& table = split_kinds();
  std::string help = "how the samples are dealt out to the nodes";
  std::vector<std::string_view> words, examples;
  std::vector<SplitPtr> maps;
  for (std::size_t i = 0; i < table.names().size(); ++i) {
    const std::string_view name = table.names()[i];
    help += fmt::format("; {}: {}", name, table.helps()[i]);
    const SplitPtr kind = split->kind_name() == name ? split : table.make(name);
    if (kind->example().empty())
      words.push_back(name);
    else
      maps.push_back(kind), examples.push_back(kind->example());
  }
  auto index =
      static_cast<std::size_t>(std::ranges::find(words, split->kind_name()) - words.begin());
  keys.word_or_section({"split", help}, index, words, joined(examples),
                       [&](Keys& map) { describe_maps(map, maps, split); });
  if (index < words.size() && split->kind_name() != words[index]) split = table.make(words[index]);
}

}  // namespace

void DataOptions::describe(Keys& keys) {
  keys.require("kind", "kind: digits");
  keys.kind("kind", kind, data_kinds(), "what the samples are read from");
  keys.whole("batch", batch, limits::kBatches, "samples of a node and a round");
  keys.whole("accumulate", accumulate, limits::kBatches,
             "equal parts in which a batch is computed, one after another, to need less memory");
  keys.check(batch % accumulate == 0, "accumulate",
             fmt::format("a batch of {} cannot be cut in {} equal parts", batch, accumulate),
             "Write a number that divides data.batch");
  describe_split(keys, split);
}

}  // namespace kimesh
