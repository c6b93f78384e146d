// SPDX-License-Identifier: Apache-2.0
#include "conformance/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gradstone {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor doubles(const std::vector<double>& values) {
  return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}
bool equal(const std::vector<double>& a, const std::vector<double>& b, Tolerance tolerance = {}) {
  return !difference(doubles(a).ref(), doubles(b).ref(), tolerance);
}

TEST(Compare, ANumberMayBeOffByItsOwnPartAndByAPartOfTheLargest) {
  EXPECT_TRUE(equal({1.0009}, {1}, {1e-3, 0}));
  EXPECT_FALSE(equal({1.0011}, {1}, {1e-3, 0}));
  EXPECT_TRUE(equal({0.09, 100}, {0, 100}, {0, 1e-3}));
  EXPECT_FALSE(equal({0.11, 100}, {0, 100}, {0, 1e-3}));
}

TEST(Compare, WhatIsNotFiniteMustBeTheSame) {
  EXPECT_TRUE(equal({kNan, kInfinity, -kInfinity}, {kNan, kInfinity, -kInfinity}));
  EXPECT_FALSE(equal({1}, {kNan}, {1, 1}));
  EXPECT_FALSE(equal({kNan}, {1}, {1, 1}));
  EXPECT_FALSE(equal({kInfinity}, {-kInfinity}, {1, 1}));
  EXPECT_FALSE(equal({1e300}, {kInfinity}, {1, 1}));
  EXPECT_FALSE(equal({kInfinity}, {1e300}, {1, 1}));
}

TEST(Compare, IntegersAreExactHoweverLarge) {
  const std::int64_t large = std::int64_t{1} << 60;
  const Tensor a = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{0, large});
  const Tensor b = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{0, large + 1});
  EXPECT_FALSE(difference(a.ref(), a.ref(), {}));
  EXPECT_EQ(difference(a.ref(), b.ref(), data_tolerance(DType::kInt64)),
            "at [1]: 1152921504606846976, expected 1152921504606846977");
}

TEST(Compare, SaysTheWorstElementAndItsPlace) {
  const Tensor a = Tensor::of<float>({2, 2}, std::vector<float>{1, 2.5f, 3, 9});
  const Tensor b = Tensor::of<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(difference(a.ref(), b.ref(), {0, 0.0625}),
            "2 of 4 elements are off, most at [1, 1]: 9, expected 4 (off by 5, tolerance 0.25)");
}

TEST(Compare, TypesMustBeTheSame) {
  const Tensor a({DType::kFloat32, {2}}), b({DType::kFloat32, {1, 2}}), c({DType::kFloat64, {2}});
  EXPECT_EQ(difference(a.ref(), b.ref(), {1, 1}), "is float32 [2], expected float32 [1, 2]");
  EXPECT_EQ(difference(a.ref(), c.ref(), {1, 1}), "is float32 [2], expected float64 [2]");
}

TEST(Compare, AFewDataSetsAreLessExact) {
  EXPECT_EQ(data_tolerance(DType::kFloat32, "node/test_relu").relative, 1e-5);
  EXPECT_EQ(data_tolerance(DType::kFloat32, "node/test_hannwindow_expanded").relative, 1e-3);
  EXPECT_EQ(data_tolerance(DType::kInt32, "node/test_hannwindow").relative, 0);
}

TEST(Compare, NamesTheIndex) {
  EXPECT_EQ(index_text({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(index_text({}, 0), "[]");
}

}  // namespace
}  // namespace gradstone
