// The program of `./dev fuzz`: kimesh_fuzz --target=NAME, then what libFuzzer takes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

kimesh::fuzz::Target chosen{};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(kOption)) continue;
    for (const auto& target : kimesh::fuzz::all_targets())
      if (target.name == argument.substr(kOption.size())) chosen = target;
  }
  if (chosen.accepts) return 0;
  std::fputs("kimesh_fuzz: write --target=NAME; the names:", stderr);
  for (const auto& target : kimesh::fuzz::all_targets())
    std::fprintf(stderr, " %s", target.name.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

// What is refused goes into the corpus as well: half of a decoder refuses.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)chosen.accepts({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

// Of four mutations one goes out as it is.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (chosen.mend && seed % 4 != 0) chosen.mend({reinterpret_cast<std::byte*>(data), size});
  return size;
}
