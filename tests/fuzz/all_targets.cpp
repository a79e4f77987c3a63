#include <initializer_list>

#include "tests/fuzz/target.h"

namespace kimesh::fuzz {

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto& some :
       {payload_targets(), link_targets(), answer_targets(), config_targets(), run_file_targets()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace kimesh::fuzz
