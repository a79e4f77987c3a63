#include "kimesh/model_files/model_files.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "kimesh/model_files/safetensors.h"
#include "tests/records/folder.h"

namespace kimesh::model_files_test {
namespace {

using testing::HasSubstr;

std::vector<float> some_values(std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = 0.1f * static_cast<float>(i) - 1;
  return values;
}

std::string bytes_of_header(const std::string& header) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header;
}

TEST(Model, ComesBackBitByBit) {
  const test::Folder folder;
  const Layout layout = test::small_layout();
  std::vector<float> values = some_values(layout.size());
  values[0] = -0.0f;
  values[1] = std::numeric_limits<float>::denorm_min();
  ASSERT_TRUE(write_model(folder / "m.safetensors", layout, values).ok());
  const auto back = read_model(folder / "m.safetensors", layout);
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_EQ(back->size(), values.size());
  EXPECT_EQ(std::memcmp(back->data(), values.data(), values.size() * sizeof(float)), 0);
}

TEST(Model, IsWrittenAsTheFormatSays) {
  const test::Folder folder;
  Layout layout;
  layout.layers.push_back({"w", {1, 2}, 0, 2});
  const std::vector<float> values{1, -2};
  ASSERT_TRUE(write_model(folder / "m", layout, values).ok());
  std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(test::get(folder / "m"),
            bytes_of_header(header) + std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
}

TEST(Model, IsReadByPython) {
  if (std::system("python3 -c pass") != 0) GTEST_SKIP() << "no python3 on this machine";
  const test::Folder folder;
  const Layout layout = test::small_layout();
  ASSERT_TRUE(write_model(folder / "m", layout, some_values(layout.size())).ok());
  test::put(folder / "read.py", R"(
import json, struct, sys
data = open(sys.argv[1], 'rb').read()
length, = struct.unpack('<Q', data[:8])
assert length % 8 == 0
header = json.loads(data[8:8 + length])
bias = header['layers.0.bias']
assert bias['shape'] == [3] and bias['dtype'] == 'F32'
begin, end = bias['data_offsets']
values = struct.unpack('<3f', data[8 + length + begin:8 + length + end])
expected = [struct.unpack('<f', struct.pack('<f', 0.1 * i - 1))[0] for i in (20, 21, 22)]
assert all(abs(v - e) < 1e-6 for v, e in zip(values, expected)), values
assert len(data) == 8 + length + 23 * 4
)");
  EXPECT_EQ(std::system(("python3 " + folder / "read.py" + " " + folder / "m").c_str()), 0);
}

// With the package of that name where it is installed, too. Seen to fail: float64 left out.
TEST(Safetensors, OfPythonAreReadWhateverTheFloats) {
  if (std::system("python3 -c pass") != 0) GTEST_SKIP() << "no python3 on this machine";
  const test::Folder folder;
  test::put(folder / "write.py", R"(
import json, struct, sys
wide = [1.5, -0.1, 3e38]
half = [1.0, -2.5, 65504.0, 2.0 ** -24, 6.1e-5, float('inf')]
brain = [1.0, -3e38, 1e-38, 0.15625]
upper = lambda x: struct.pack('<f', x)[2:]
parts = [('w', 'F32', [3, 1], struct.pack('<3f', *wide)),
         ('count', 'I64', [], struct.pack('<q', 7)),
         ('h', 'F16', [2, 3], struct.pack('<6e', *half)),
         ('b', 'BF16', [4], b''.join(upper(x) for x in brain)),
         ('d', 'F64', [3], struct.pack('<3d', 0.1, -1e-60, 3e38)),
         ('empty', 'F32', [0, 5], b'')]
header, data = {}, b''
for name, dtype, shape, raw in parts:
    place = [len(data), len(data) + len(raw)]
    header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': place}
    data += raw
text = json.dumps(header).encode()
open(sys.argv[1], 'wb').write(struct.pack('<Q', len(text)) + text + data)
try:
    import safetensors, numpy
except ImportError:
    sys.exit(0)
from safetensors.numpy import save_file
save_file({'w': numpy.array([[1.5], [-0.1], [3e38]], dtype=numpy.float32)}, sys.argv[2])
)");
  ASSERT_EQ(
      std::system(("python3 " + folder / "write.py" + " " + folder / "m" + " " + folder / "package")
                      .c_str()),
      0);
  std::vector<std::string> skipped;
  const auto file = read_tensors(folder / "m", skipped);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(skipped, testing::ElementsAre("count"));
  ASSERT_EQ(file->layout.layers.size(), 5u);
  EXPECT_EQ(file->layout.layers[0].name, "w");
  EXPECT_EQ(file->layout.layers[1].shape, (std::vector<std::int64_t>{2, 3}));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> expected{1.5f,     -0.1f,    3e38f,        1.0f,     -2.5f,
                                    65504.0f, 0x1p-24f, 0x1.ff8p-15f, kInfinity};
  EXPECT_THAT(std::vector<float>(file->values.begin(), file->values.begin() + 9),
              testing::ElementsAreArray(expected));
  EXPECT_THAT(
      std::vector<float>(file->values.begin() + 9, file->values.end()),
      testing::ElementsAre(1.0f, testing::FloatNear(-3e38f, 3e36f),
                           testing::FloatNear(1e-38f, 1e-40f), 0.15625f, 0.1f, -0.0f, 3e38f));
  if (!std::filesystem::exists(folder / "package")) {
    GTEST_SKIP() << "python3 has no safetensors package here: only the file above was read";
  }
  const auto package = read_tensors(folder / "package", skipped);
  ASSERT_TRUE(package.ok()) << package.error().message;
  EXPECT_EQ(package->values, (std::vector<float>{1.5f, -0.1f, 3e38f}));
}

// Seen to fail: frozen tensors left out of the file.
TEST(Model, HoldsItsFrozenTensorsToo) {
  const test::Folder folder;
  const Layout layout = test::small_layout();
  NamedValues frozen;
  frozen.layout.layers.push_back({"stem.weight", {2}, 0, 2});
  frozen.values = {3, 4};
  const std::vector<float> values = some_values(layout.size());
  ASSERT_TRUE(write_model(folder / "m", layout, values, frozen).ok());
  const auto back = read_model(folder / "m", layout, frozen.layout);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, values);
  EXPECT_FALSE(read_model(folder / "m", layout).ok());
  std::vector<std::string> skipped;
  const auto all = read_tensors(folder / "m", skipped);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->layout.layers.back().name, "stem.weight");
  EXPECT_EQ(all->values.back(), 4);
  frozen.layout.layers[0].shape = {1, 2};
  EXPECT_FALSE(read_model(folder / "m", layout, frozen.layout).ok());
}

TEST(Model, OfAnotherShapeIsRefused) {
  const test::Folder folder;
  Layout layout = test::small_layout();
  ASSERT_TRUE(write_model(folder / "m", layout, some_values(layout.size())).ok());
  layout.layers[0].shape = {4, 5};
  auto back = read_model(folder / "m", layout);
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.error().message, HasSubstr("/m holds no layers.0.weight of shape [4, 5]"));
  layout = Layout::vector(23);
  back = read_model(folder / "m", layout);
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.error().message, HasSubstr("/m holds 2 tensors instead of 1"));
}

TEST(Model, LeavesOneSentenceWhenTheDiskIsFull) {
  const test::Folder folder;
  std::filesystem::create_symlink("/dev/full", folder / "m.tmp");
  const Status written = write_model(folder / "m", test::small_layout(), some_values(23));
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("No space left on device"));
}

// A node lets the others go once its model is written. /dev/null takes every byte and cannot be
// synced. Seen to fail: with a file that was not synced before it got its name, all was well.
TEST(Model, IsOnTheDiskBeforeItHasItsName) {
  const test::Folder folder;
  std::filesystem::create_symlink("/dev/null", folder / "m.tmp");
  const Status written = write_model(folder / "m", test::small_layout(), some_values(23));
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("/m cannot be written: Invalid argument"));
  EXPECT_FALSE(std::filesystem::exists(folder / "m"));
}

TEST(Quadratics, CallTheirVectorX) {
  const test::Folder folder;
  const Layout layout = Layout::vector(4);
  ASSERT_TRUE(write_model(folder / "m", layout, some_values(4)).ok());
  const auto file = read_safetensors(folder / "m");
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file->find("x"), nullptr);
  EXPECT_EQ(file->find("y"), nullptr);
}

TEST(Safetensors, RefuseDamagedFilesBeforeTheyTakeMemory) {
  const test::Folder folder;
  const auto entry = [](const std::string& shape, const std::string& offsets,
                        const std::string& dtype = "F32") {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  const std::string data(8, '\0');
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "it is too short"},
      {"1234567", "it is too short"},
      {std::string(8, '\xff') + "{}", "its header is longer than the file"},
      {bytes_of_header("[]"), "its header is no JSON object"},
      {bytes_of_header("{\"w\":"), "its header is no JSON object"},
      {bytes_of_header("{}") + "123", "its data is longer than its header says"},
      {bytes_of_header(entry("[1]", "[0,4]")) + data, "its data is longer than its header says"},
      {bytes_of_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") +
           data,
       "tensor b does not follow the one before it"},
      {bytes_of_header(entry("[2]", "[0,8]", "F16")) + data, "does not lie where the file says"},
      {bytes_of_header(entry("[3]", "[0,8]")) + data, "does not lie where the file says"},
      {bytes_of_header(entry("[9]", "[0,8]")) + data, "tensor w has no valid place"},
      {bytes_of_header(entry("[2]", "[0,16]")) + data, "does not lie where the file says"},
      {bytes_of_header(entry("[2]", "[8,0]")) + data, "does not lie where the file says"},
      {bytes_of_header(entry("[1]", "[2,6]")) + data, "does not follow the one before it"},
      {bytes_of_header(entry("[-2]", "[0,8]")) + data, "tensor w has no valid place"},
      {bytes_of_header(entry("[4294967296,4294967296]", "[0,8]")) + data, "has no valid place"},
      {bytes_of_header(entry("[2]", "[0]")) + data, "has no valid place"},
      {bytes_of_header(entry("2", "[0,8]")) + data, "'shape' is missing or of another kind"},
  };
  for (const auto& [bytes, why] : bad) {
    test::put(folder / "m", bytes);
    const auto file = read_safetensors(folder / "m");
    ASSERT_FALSE(file.ok()) << why;
    EXPECT_THAT(file.error().message, HasSubstr(why));
  }
  test::put(folder / "m", bytes_of_header(entry("[2]", "[0,8]")) + data);
  EXPECT_TRUE(read_safetensors(folder / "m").ok());
  EXPECT_FALSE(read_safetensors(folder / "m", 10).ok());
  EXPECT_FALSE(read_safetensors(folder / "none").ok());
}

// Seen to fail: the copies of the header's entries called themselves until the stack was used up.
TEST(Safetensors, RefuseAHeaderThatNestsDeep) {
  const test::Folder folder;
  const std::string deep = std::string(3'000'000, '[') + std::string(3'000'000, ']');
  test::put(folder / "m", bytes_of_header(R"({"w":{"dtype":"F32","shape":[)" + deep +
                                          R"(],"data_offsets":[0,8]}})") +
                              std::string(8, '\0'));
  const auto file = read_safetensors(folder / "m");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("its header is no JSON object"));
}

}  // namespace
}  // namespace kimesh::model_files_test
