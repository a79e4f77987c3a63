// The section `data` of a config: what is learnt from, and who holds which part of it.
#pragma once

#include <cstdint>
#include <string>

namespace kimesh {

enum class DataKind { kDigits, kCifar10, kIdx, kText, kCsv, kNpy, kImageFolder };
enum class TokenKind { kCharacter, kWord };
enum class SplitKind { kEven, kWeights, kDirichlet, kByLabel };

struct DataConfig {
  DataKind kind = DataKind::kDigits;
  // File or folder, as open_data says for each kind. Written relative to the config file; here it
  // is resolved, and so is test_path.
  std::string path;
  int batch = 32;      // samples per node and round
  int accumulate = 1;  // the batch is computed in so many equal parts, which needs less memory
  SplitKind split = SplitKind::kEven;
  double dirichlet = 0.3;  // concentration, > 0
  // Share kept out for the test set: stratified; of text: its end. 0: the test set has files of its
  // own.
  double test_share = 0.2;
  std::string test_path;                     // csv, image_folder: the test set; empty: test_share
  TokenKind tokens = TokenKind::kCharacter;  // text
  std::int64_t length = 64;                  // text: tokens in a sample
  std::int64_t count_min = 1;                // text: a token seen less often becomes <unknown>
  std::int64_t vocabulary_max = 10'000;      // text: the most frequent tokens; others: <unknown>
  std::string label;                         // csv: name of the column, or its number from 1
  bool header = true;                        // csv: the first line names the columns
  std::int64_t height = 0, width = 0;        // image_folder: resize to; 0: all have one size
  int split_line = 0;                        // of the config file, for sentences
};

// As RunConfig::canonical, of this section.
[[nodiscard]] std::string canonical(const DataConfig& data);

}  // namespace kimesh
