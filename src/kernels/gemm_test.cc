// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <vector>

namespace gradstone::kernels {
namespace {

// Small integers: every sum is exact in float too, so the comparison is for equality.
template <class T>
std::vector<T> numbers(std::int64_t count, int seed) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>((i * 7 + seed) % 5 - 2));
  return values;
}

template <class T>
void expect_plain_sums(const GemmSizes& sizes, bool transposed) {
  const auto a = numbers<T>(sizes.rows * sizes.depth, 1);
  const auto b = numbers<T>(sizes.depth * sizes.columns, 2);
  const auto start = numbers<T>(sizes.rows * sizes.columns, 3);
  MatrixRef<T> left{a.data(), sizes.depth, 1}, right{b.data(), sizes.columns, 1};
  if (transposed) {
    left = {a.data(), 1, sizes.rows};
    right = {b.data(), 1, sizes.depth};
  }
  std::vector<T> c = start;
  add_product(sizes, left, right, c.data());
  for (std::int64_t i = 0; i < sizes.rows; ++i) {
    for (std::int64_t j = 0; j < sizes.columns; ++j) {
      T sum = start[static_cast<std::size_t>(i * sizes.columns + j)];
      for (std::int64_t k = 0; k < sizes.depth; ++k) {
        sum += left.data[i * left.row_stride + k * left.column_stride] *
               right.data[k * right.row_stride + j * right.column_stride];
      }
      ASSERT_EQ(c[static_cast<std::size_t>(i * sizes.columns + j)], sum)
          << sizes.rows << "x" << sizes.depth << "x" << sizes.columns << " at " << i << ", " << j;
    }
  }
}

// Extents on both sides of every block and tile.
const GemmSizes kSizes[] = {{1, 1, 1},    {6, 16, 256}, {5, 15, 255},   {7, 17, 257}, {97, 33, 3},
                            {2, 1030, 5}, {96, 8, 600}, {100, 1025, 2}, {3, 5, 0},    {13, 1, 40}};

TEST(GemmTest, AddsThePlainSums) {
  for (const GemmSizes& sizes : kSizes) {
    expect_plain_sums<float>(sizes, false);
    expect_plain_sums<double>(sizes, false);
  }
}

TEST(GemmTest, ReadsTransposedMatrices) {
  for (const GemmSizes& sizes : kSizes) {
    expect_plain_sums<float>(sizes, true);
    expect_plain_sums<double>(sizes, true);
  }
}

}  // namespace
}  // namespace gradstone::kernels
