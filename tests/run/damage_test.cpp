#include "kimesh/run/run_config.h"
#include "tests/config/damaged_file.h"
#include "tests/run/stand_in_models.h"

namespace kimesh::damage_test {
namespace {

TEST(DamagedFiles, GetAnAnswerAsConfigs) {
  expect_answers("/configs/cifar10-cnn.yaml",
                 [](const std::string& path) { return load_config(path); });
  expect_answers("/configs/digits.yaml", [](const std::string& path) { return load_config(path); });
}

}  // namespace
}  // namespace kimesh::damage_test
