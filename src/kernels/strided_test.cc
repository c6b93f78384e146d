// SPDX-License-Identifier: Apache-2.0
#include "kernels/strided.h"

#include <gtest/gtest.h>

#include "kernels/sums.h"

namespace gradstone::kernels {
namespace {

// Offsets of all elements of a two-tensor walk, in order.
std::vector<std::pair<std::int64_t, std::int64_t>> offsets(const Shape& extents,
                                                           const std::array<Strides, 2>& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for_each_run<2>(extents, strides, [&](const auto& run) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      all.emplace_back(run.offset[0] + i * run.stride[0], run.offset[1] + i * run.stride[1]);
    }
  });
  return all;
}

TEST(StridedTest, WalksATransposition) {
  const auto walk = offsets({3, 2}, {row_major_strides({3, 2}), {1, 3}});
  EXPECT_EQ(walk, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                      {0, 0}, {1, 3}, {2, 1}, {3, 4}, {4, 2}, {5, 5}}));
}

TEST(StridedTest, RepeatsBroadcastAxes) {
  const Shape target = {2, 2, 2};
  const auto walk = offsets(target, {row_major_strides(target), broadcast_strides({2, 1}, target)});
  std::vector<std::int64_t> second;
  for (const auto& [first, other] : walk) second.push_back(other);
  EXPECT_EQ(second, (std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(StridedTest, JoinsAxesThatLieTogether) {
  int runs = 0;
  const Shape shape = {4, 1, 5, 6};
  for_each_run<2>(shape, {row_major_strides(shape), row_major_strides(shape)},
                  [&](const auto& run) {
                    ++runs;
                    EXPECT_EQ(run.count, 120);
                  });
  EXPECT_EQ(runs, 1);
}

TEST(StridedTest, VisitsAScalarOnceAndAnEmptySpaceNever) {
  EXPECT_EQ(offsets({}, {Strides{}, Strides{}}).size(), 1u);
  EXPECT_EQ(offsets({2, 0}, {Strides{0, 1}, Strides{0, 1}}).size(), 0u);
}

TEST(SumsTest, SumsOverRepeatedAxes) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(sum_to<float>(x, {2, 3}, {3}), (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(sum_to<float>(x, {2, 3}, {2, 1}), (std::vector<double>{6, 15}));
  EXPECT_EQ(sum_to<float>(x, {2, 3}, {}), (std::vector<double>{21}));
}

TEST(SumsTest, AreTakenInDouble) {
  // In float 2^24 + 1 is 2^24: the ones would be lost.
  std::vector<float> x(1001, 1.0f);
  x[0] = 16777216.0f;
  EXPECT_EQ(sum_of(std::span<const float>(x)), 16778216.0);
}

}  // namespace
}  // namespace gradstone::kernels
