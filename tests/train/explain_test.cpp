// What `kimesh explain` says with all models, and the page in docs that it writes.
#include "kimesh/run/explain.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "kimesh/config/key_text.h"
#include "tests/train/fixture.h"

namespace kimesh::explain_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Explain, AModelsKeys) {
  const std::string text = *explain("model", "vgg");
  EXPECT_THAT(text, HasSubstr("depth"));
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(*explain("model"), HasSubstr("frozen"));
}

TEST(Explain, EveryKeyAndEveryKindHasAHelpLine) {
  for (const ExplainSection& section : explain_sections()) {
    EXPECT_FALSE(section.help.empty()) << section.name;
    for (const KeyRow& row : key_rows(section.describe))
      EXPECT_TRUE(!row.help.empty() && !row.help.ends_with('.') &&
                  row.help.find('|') == std::string::npos)
          << section.name << ": " << row.name << ": " << row.help;
    for (const KindRow& kind : kind_rows(section.describe))
      EXPECT_TRUE(!kind.help.empty() && !kind.help.ends_with('.')) << kind.name;
  }
}

// Seen to fail without a row of docs/kinds.md.
TEST(Docs, KindsAreWhatTheProgramDeclares) {
  std::ifstream in(KIMESH_SOURCE_DIR "/docs/kinds.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(page, explain_markdown()) << "write it anew: kimesh explain --markdown > docs/kinds.md";
}

}  // namespace
}  // namespace kimesh::explain_test
