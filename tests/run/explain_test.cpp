// What `kimesh explain` says, and the page in docs that it writes.
#include "kimesh/run/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "kimesh/config/key_text.h"

namespace kimesh {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Explain, ListsWhatThereIs) {
  const std::string text = *explain();
  for (const ExplainSection& section : explain_sections())
    EXPECT_THAT(text, HasSubstr(std::string(section.name)));
}

TEST(Explain, ASectionsKindsAndCommonKeys) {
  const std::string text = *explain("topology");
  EXPECT_THAT(text, HasSubstr("kind:\n  ring "));
  EXPECT_THAT(text, HasSubstr("nodes.NODE.max_rate"));
  EXPECT_THAT(text, HasSubstr("links.FROM->TO.delay"));
  EXPECT_THAT(text, Not(HasSubstr("fan_out")));
}

TEST(Explain, AKindsKeysWithTheirRanges) {
  const std::string text = *explain("topology", "tree");
  EXPECT_THAT(text, HasSubstr("whole number from 1 to 1024"));
  EXPECT_THAT(text, HasSubstr("sites.SITE.head"));
  EXPECT_THAT(text, Not(HasSubstr("max_rate")));
  EXPECT_THAT(*explain("topology", "ring"), HasSubstr("no keys of its own"));
}

TEST(Explain, AnUnknownNameIsToldWhatThereIs) {
  EXPECT_EQ(explain("topologie").error().code, ErrorCode::kUserInput);
  EXPECT_THAT(explain("topologie").error().message, HasSubstr("Write one of: topology"));
  EXPECT_THAT(explain("topology", "cube").error().message,
              HasSubstr("topology has no kind 'cube'. Write one of: ring, parameter_server, tree"));
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
}  // namespace kimesh
