// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gradstone {
namespace {

// Known answers of Philox4x32-10 published with the Random123 library (kat_vectors).
TEST(CounterRandom, MatchesPublishedVectors) {
  const std::array<std::uint32_t, 4> zeros = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(CounterRandom(0, 0).block(0), zeros);
  const std::array<std::uint32_t, 4> ones = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  EXPECT_EQ(CounterRandom(~0ull, ~0ull).block(~0ull), ones);
  const std::array<std::uint32_t, 4> pi = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  EXPECT_EQ(CounterRandom(0x299f31d0a4093822, 0x0370734413198a2e).block(0x85a308d3243f6a88), pi);
}

TEST(CounterRandom, NormalHasUnitMoments) {
  const CounterRandom random(7, stream_of("test"));
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal(i);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

TEST(CounterRandom, FillsEqualSingleDraws) {
  const CounterRandom random(7, 9);
  for (const std::uint64_t first : {0, 1, 6, 11}) {
    for (const std::size_t size : {0, 1, 2, 3, 8}) {
      std::vector<double> uniforms(size), normals(size);
      random.fill_uniform(first, uniforms);
      random.fill_normal(first, normals);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(uniforms[i], random.uniform(first + i));
        EXPECT_EQ(normals[i], random.normal(first + i));
      }
    }
  }
}

// The two normals of one block share a radius and an angle, and must still be uncorrelated.
TEST(CounterRandom, NormalsOfOneBlockAreUncorrelated) {
  const CounterRandom random(3, stream_of("pairs"));
  std::vector<double> normals(200000);
  random.fill_normal(0, normals);
  double products = 0, square_products = 0;
  for (std::size_t i = 0; i < normals.size(); i += 2) {
    products += normals[i] * normals[i + 1];
    square_products += (normals[i] * normals[i] - 1) * (normals[i + 1] * normals[i + 1] - 1);
  }
  EXPECT_NEAR(products / 1e5, 0.0, 0.02);
  EXPECT_NEAR(square_products / 1e5, 0.0, 0.04);
}

TEST(CounterRandom, PermutationIsOneAndDependsOnSeed) {
  auto first = permutation(CounterRandom(1, 1), 1000);
  EXPECT_NE(first, permutation(CounterRandom(2, 1), 1000));
  EXPECT_EQ(first, permutation(CounterRandom(1, 1), 1000));
  std::sort(first.begin(), first.end());
  for (std::uint32_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i], i);
}

}  // namespace
}  // namespace gradstone
