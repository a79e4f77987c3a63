#include "kimesh/http/token.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kimesh::token_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kToken = "f00dfacef00dfacef00dface";

class TokenFile : public testing::Test {
 protected:
  std::string write(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
    return path_;
  }
  std::string trouble() {
    const auto token = read_token(path_);
    return token ? "none" : token.error().message;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ =
      testing::TempDir() + "kimesh_token_" + std::to_string(::getpid()) + "_file";
};

TEST_F(TokenFile, HoldsATokenThatNobodyElseReads) {
  EXPECT_EQ(read_token(write(kToken + "\n", 0600)).value(), kToken);
  for (const mode_t open : {0640u, 0604u, 0644u, 0660u}) {
    write(kToken, open);
    EXPECT_THAT(trouble(), AllOf(HasSubstr("others on this machine can read the token"),
                                 HasSubstr("chmod 600 " + path_), Not(HasSubstr(kToken))));
  }
}

TEST_F(TokenFile, MissingShortLongOrUnreadableOnesAreSentences) {
  EXPECT_THAT(trouble(), AllOf(HasSubstr("cannot be read: No such file"), HasSubstr("openssl")));
  for (const std::string& text :
       {std::string("short"), std::string(kTokenCharsMax + 1, 'x'), kToken + " b", std::string(),
        kToken + "\n" + kToken, kToken + '\t'}) {
    write(text, 0600);
    EXPECT_THAT(trouble(), AllOf(HasSubstr("holds no token"), Not(HasSubstr("f00d")))) << text;
  }
}

// That it takes as long for every text is how it is made: it ends at no difference.
TEST(Token, OnlyTheWholeTokenIsIt) {
  EXPECT_TRUE(is_token(kToken, kToken));
  EXPECT_FALSE(is_token(kToken, ""));
  EXPECT_FALSE(is_token(kToken, kToken + "x"));
  EXPECT_FALSE(is_token(kToken, kToken + std::string(1, '\0')));
  EXPECT_FALSE(is_token(kToken, kToken.substr(0, kToken.size() - 1)));
  for (std::size_t i = 0; i < kToken.size(); ++i) {
    std::string other = kToken;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(is_token(kToken, other)) << i;
  }
  const std::string longest(kTokenCharsMax, 'x');
  EXPECT_TRUE(is_token(longest, longest));
  EXPECT_FALSE(is_token(longest, longest + "x"));
}

}  // namespace
}  // namespace kimesh::token_test
