// SPDX-License-Identifier: Apache-2.0
#include "verify/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/builder.h"

namespace gradstone {
namespace {

TEST(Tolerance, IsTenTimesTheOwnGapWhereThatIsMore) {
  Tolerance tolerance;
  tolerance.own_gap = 1e-4;
  tolerance.magnitude = 1;
  complete(tolerance, DType::kFloat32);
  EXPECT_DOUBLE_EQ(tolerance.allowed, 1e-3);
}

TEST(Tolerance, HasAFloorFromTypeAndReduction) {
  Tolerance tolerance;
  tolerance.magnitude = 3;
  tolerance.reduction = 100;
  tolerance.moved = 1e-6;
  complete(tolerance, DType::kFloat32);
  EXPECT_DOUBLE_EQ(tolerance.allowed, 4 * 10 * (3 * std::pow(2, -23) + 1e-6));
  tolerance.moved = 0;
  complete(tolerance, DType::kFloat64);
  EXPECT_DOUBLE_EQ(tolerance.allowed, 4 * 10 * 3 * std::pow(2, -52));
}

TEST(Tolerance, IsNoneForIntegers) {
  Tolerance tolerance;
  tolerance.magnitude = 100;
  complete(tolerance, DType::kInt64);
  EXPECT_EQ(tolerance.allowed, 0);
}

TEST(ReductionLengths, AreTheTermsBehindAnElementAndStayBehindLaterNodes) {
  GraphBuilder b("test");
  Value x = b.input("x", DType::kFloat32, {4, 3, 8, 8});
  x = b.conv("conv", x, {.filters = 5, .kernel = 3, .bias = false});
  x = b.relu("relu", x);
  const Value norm = b.batch_norm("norm", x);
  const Graph graph = b.finish({norm}).value();
  const auto lengths = reduction_lengths(graph, check_graph(graph).value());
  EXPECT_EQ(lengths.at("conv"), 2 * 3 * 3 * 3);  // operations: a multiply-add is two
  EXPECT_EQ(lengths.at("relu"), 2 * 3 * 3 * 3);
  EXPECT_EQ(lengths.at("norm"), 4 * 6 * 6);  // elements of a channel
}

}  // namespace
}  // namespace gradstone
