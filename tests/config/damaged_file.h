// Files arrive damaged: cut, doubled, with bytes of another. Loading must answer, whatever it
// reads.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "kimesh/config/problem.h"
#include "kimesh/util/random.h"
#include "tests/config/text_file.h"

namespace kimesh {

inline std::string damaged(std::string text, Random& random) {
  const auto place = [&] { return random.below(static_cast<std::uint32_t>(text.size())); };
  for (std::uint32_t i = 1 + random.below(4); i > 0; --i) {
    switch (random.below(4)) {
      case 0:
        text[place()] = static_cast<char>(random.below(256));
        break;
      case 1:
        text[place()] = "{}[]:,&*#-\"'\n\t |>!%?"[random.below(20)];
        break;
      case 2:
        text.erase(place(), 1 + random.below(8));
        break;
      default:
        text.insert(place(), text.substr(place(), random.below(40)));
        break;
    }
    if (text.empty()) text.push_back('x');
  }
  return text;
}

// Seen to fail without the catch around the parser. A problem is always a whole sentence.
template <typename Load>
void expect_answers(const std::string& shipped, Load load) {
  std::ifstream in(KIMESH_SOURCE_DIR + shipped);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(text.empty()) << shipped;
  const TextFile file("damaged.yaml", text);
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed, 0, 0, Purpose::kTest);
    file.write(damaged(text, random));
    for (const Problem& problem : load(file.path()).problems) {
      EXPECT_FALSE(problem.message.empty());
      EXPECT_FALSE(problem.remedy.empty());
      EXPECT_EQ(to_string(problem).find('\n'), std::string::npos) << to_string(problem);
    }
  }
}

}  // namespace kimesh
