#include "kimesh/kernels/collect.h"

#include <algorithm>

#include "tests/cuda/cuda_fixture.h"

namespace kimesh::cuda_test::collect_test {
namespace {

using kernels::Entries;
using kernels::Quota;

class CudaCollect : public Cuda {
 protected:
  // Both versions have made `entries` of these vectors: are they the same, and is what is left?
  static void expect_same(const std::vector<float>& target, std::vector<float> estimate,
                          const Entries& expected, const kernels::Energies& energies,
                          const Entries& found, const kernels::PassResult& stepped,
                          const kernels::MemoryBuffer& held) {
    EXPECT_EQ(found.indices, expected.indices);
    EXPECT_EQ(bits(found.values), bits(expected.values));
    EXPECT_TRUE(is_near(stepped.energies.target, energies.target));
    EXPECT_TRUE(is_near(stepped.energies.difference, energies.difference));
    const kernels::Added added =
        kernels::add_entries(target, expected.indices, expected.values, estimate);
    EXPECT_TRUE(is_near(stepped.added.removed, added.removed));
    EXPECT_TRUE(is_near(stepped.added.left, added.left));
    EXPECT_EQ(bits(get(held)), bits(estimate));
  }

  static void expect_topk(const std::vector<float>& target, const std::vector<float>& estimate,
                          const std::vector<Quota>& shares) {
    Entries expected, found;
    kernels::SelectScratch scratch;
    kernels::Energies energies;
    const std::span<const float> t = target, e = estimate;
    for (const Quota& s : shares)
      energies +=
          kernels::collect_topk(t.subspan(s.offset, s.size), e.subspan(s.offset, s.size), s.keep,
                                static_cast<std::uint32_t>(s.offset), expected, scratch);
    Passed on_device{put(target), put(estimate), shares};
    const auto stepped = device().select_largest(on_device.pass(true), 0, found);
    ASSERT_TRUE(stepped.ok());
    expect_same(target, estimate, expected, energies, found, *stepped, on_device.estimate);
  }
};

// Seen to fail with `>` for `>=` in over_kernel.
TEST_F(CudaCollect, AThresholdTakesWhatReachesIt) {
  for (const std::size_t size : kSizes) {
    for (const auto& [kind, name] : kKinds) {
      const std::vector<float> target = draw(kind, size, kSeed);
      const std::vector<float> estimate(size);
      for (const float lower : {1e-41f, 0.75f, 1.0f, 2.0f, 100.0f}) {
        SCOPED_TRACE(name + ", " + std::to_string(size) + " elements over " +
                     std::to_string(lower));
        Entries expected, found;
        const auto energies = kernels::collect(target, estimate, lower, 0, expected);
        Passed on_device{put(target), put(estimate), {{0, size, 0}}};
        const auto stepped = device().select_reaching(on_device.pass(true), lower, found);
        ASSERT_TRUE(stepped.ok());
        expect_same(target, estimate, expected, energies, found, *stepped, on_device.estimate);
      }
    }
  }
}

// Seen to fail with ties accepted from the upper end; with a digit's shift off by one a check stops
// it.
TEST_F(CudaCollect, TopkOfOneShareIsTheCpus) {
  for (const std::size_t size : kSizes) {
    if (size == 0) continue;
    for (const auto& [kind, name] : kKinds) {
      const std::vector<float> target = draw(kind, size, kSeed);
      std::vector<float> estimate = draw(kind, size, kSeed + 1);
      for (float& e : estimate) e *= 0.5f;
      for (const std::size_t keep : {std::size_t{0}, std::size_t{1}, size / 100, size / 3, size}) {
        SCOPED_TRACE(name + ", " + std::to_string(keep) + " of " + std::to_string(size));
        expect_topk(target, estimate, {{0, size, static_cast<std::uint32_t>(keep)}});
      }
    }
  }
}

// Seen to fail with words of two shares stored and not joined, and with ties counted from the
// vector's begin.
TEST_F(CudaCollect, SharesThatBeginAnywhereEachGetTheirOwn) {
  const std::vector<std::size_t> lengths = {0, 1, 31, 1, 33, 5, 8192, 0, 3, 8185, 700, 9000, 0};
  for (const auto& [kind, name] : kKinds) {
    std::vector<Quota> shares;
    std::size_t size = 0;
    std::mt19937 random(kSeed);
    for (const std::size_t length : lengths) {
      shares.push_back({size, length, static_cast<std::uint32_t>(random() % (length + 1))});
      size += length;
    }
    SCOPED_TRACE(name);
    expect_topk(draw(kind, size, kSeed), draw(kind, size, kSeed + 1), shares);
    for (Quota& share : shares) share.keep /= 50;
    expect_topk(draw(kind, size, kSeed), draw(kind, size, kSeed + 1), shares);
  }
}

// What select_largest does with a floor, in the plainest way.
Entries largest_with_floor(std::span<const float> target, std::span<const float> estimate,
                           std::span<const Quota> floor, std::uint32_t in_all) {
  Entries entries;
  kernels::SelectScratch scratch;
  for (const Quota& s : floor)
    (void)kernels::collect_topk(target.subspan(s.offset, s.size),
                                estimate.subspan(s.offset, s.size), s.keep,
                                static_cast<std::uint32_t>(s.offset), entries, scratch);
  std::vector<float> rest_target(target.begin(), target.end());
  for (const std::uint32_t j : entries.indices) rest_target[j] = estimate[j];
  Entries rest;
  (void)kernels::collect_topk(rest_target, estimate, in_all - entries.size(), 0, rest, scratch);
  std::vector<std::pair<std::uint32_t, float>> all;
  for (const Entries* part : {&entries, &rest})
    for (std::size_t c = 0; c < part->size(); ++c)
      all.emplace_back(part->indices[c], part->values[c]);
  std::ranges::sort(all, {}, &std::pair<std::uint32_t, float>::first);
  Entries merged;
  for (const auto& [index, value] : all) {
    merged.indices.push_back(index);
    merged.values.push_back(value);
  }
  return merged;
}

// Seen to fail with the floor's elements standing for selection again.
TEST_F(CudaCollect, TheFloorGoesFirstAndThenTheLargestOfTheRest) {
  for (const auto& [kind, name] : kKinds) {
    for (const std::uint32_t in_all : {40u, 300u, 17000u}) {
      SCOPED_TRACE(name + ", " + std::to_string(in_all) + " in all");
      const std::vector<Quota> floor = {{0, 100, 7}, {100, 8200, 30}, {8300, 9000, 3}};
      const std::vector<float> target = draw(kind, 17300, kSeed);
      const std::vector<float> estimate = draw(kind, 17300, kSeed + 1);
      const Entries expected = largest_with_floor(target, estimate, floor, in_all);
      Entries none, found;
      kernels::SelectScratch scratch;
      const auto energies = kernels::collect_topk(target, estimate, 0, 0, none, scratch);
      Passed on_device{put(target), put(estimate), floor};
      const auto stepped = device().select_largest(on_device.pass(true), in_all, found);
      ASSERT_TRUE(stepped.ok());
      expect_same(target, estimate, expected, energies, found, *stepped, on_device.estimate);
    }
  }
}

// Seen to fail with the entries written whatever the header says.
TEST_F(CudaCollect, AnElementThatIsNotFiniteLeavesTheEstimateAlone) {
  for (const std::size_t size : kSizes) {
    if (size == 0) continue;
    for (const float bad : {kNan, kInfinity, 3e38f}) {
      std::vector<float> target = draw(Kind::kGaussian, size, kSeed);
      std::vector<float> estimate = draw(Kind::kGaussian, size, kSeed + 1);
      target[size / 2] = bad;
      if (bad == 3e38f) estimate[size / 2] = -bad;  // each is finite, their difference is not
      Passed on_device{put(target), put(estimate), {{0, size, static_cast<std::uint32_t>(size)}}};
      Entries found;
      auto stepped = device().select_reaching(on_device.pass(true), 0.1f, found);
      ASSERT_TRUE(stepped.ok());
      EXPECT_FALSE(stepped->energies.finite()) << size;
      EXPECT_EQ(found.size(), 0u) << size;
      stepped = device().select_largest(on_device.pass(true), 0, found);
      ASSERT_TRUE(stepped.ok());
      EXPECT_FALSE(stepped->energies.finite()) << size;
      EXPECT_EQ(found.size(), 0u) << size;
      EXPECT_EQ(bits(get(on_device.estimate)), bits(estimate)) << size;
    }
  }
}

TEST_F(CudaCollect, WithoutAnUpdateTheEstimateStays) {
  const std::vector<float> target = draw(Kind::kGaussian, 9000, kSeed);
  const std::vector<float> estimate = draw(Kind::kGaussian, 9000, kSeed + 1);
  Passed on_device{put(target), put(estimate), {{0, 9000, 90}}};
  const kernels::MemoryBuffer& held = on_device.estimate;
  Entries found;
  ASSERT_TRUE(device().select_largest(on_device.pass(false), 0, found).ok());
  EXPECT_EQ(found.size(), 90u);
  EXPECT_EQ(bits(get(held)), bits(estimate));
  device().add_sparse(std::as_bytes(std::span(found.indices)),
                      std::as_bytes(std::span(found.values)), held.floats());
  std::vector<float> expected = estimate;
  (void)kernels::add_entries(target, found.indices, found.values, expected);
  EXPECT_EQ(bits(get(held)), bits(expected));
}

TEST_F(CudaCollect, EntriesAreAddedWithOneRounding) {
  for (const std::size_t size : kSizes) {
    std::vector<float> estimate = draw(Kind::kGaussian, size, kSeed);
    const kernels::MemoryBuffer held = put(estimate);
    Entries entries;
    for (std::size_t j = 0; j < size; j += 1 + j % 7) {
      entries.indices.push_back(static_cast<std::uint32_t>(j));
      entries.values.push_back(1e-3f * static_cast<float>(j));
    }
    device().add_sparse(std::as_bytes(std::span(entries.indices)),
                        std::as_bytes(std::span(entries.values)), held.floats());
    (void)kernels::add_entries(estimate, entries.indices, entries.values, estimate);
    EXPECT_EQ(bits(get(held)), bits(estimate)) << size;
  }
}

}  // namespace
}  // namespace kimesh::cuda_test::collect_test
