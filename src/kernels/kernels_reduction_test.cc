// SPDX-License-Identifier: Apache-2.0
// Reductions and operators along one axis against hand-made values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/testing/node_value.h"

namespace gradstone::kernels {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsNan;
using testing::node_value;
using testing::node_values;
using testing::tensor_of;
using testing::vector_of;

using Int32s = std::vector<std::int32_t>;
using Int64s = std::vector<std::int64_t>;
using UInt8s = std::vector<std::uint8_t>;
using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const Int64s kRows = {1}, kEnds = {0, 2};

auto near(double value) { return DoubleNear(value, 4 * std::abs(value) * 0x1p-52); }

Doubles over_rows(const std::string& op) {
  return node_value<double>(op, {tensor_of<double>({2, 3}, {1, -2, 4, 3, 5, -7})},
                            {{"axes", kRows}});
}

TEST(Reductions, OfRows) {
  EXPECT_EQ(over_rows("ReduceMean"), (Doubles{1, 1.0 / 3}));
  EXPECT_EQ(over_rows("ReduceProd"), (Doubles{-8, -105}));
  EXPECT_EQ(over_rows("ReduceMax"), (Doubles{4, 5}));
  EXPECT_EQ(over_rows("ReduceMin"), (Doubles{-2, -7}));
  EXPECT_EQ(over_rows("ReduceL1"), (Doubles{7, 15}));
  EXPECT_THAT(over_rows("ReduceL2"), ElementsAre(near(std::sqrt(21)), near(std::sqrt(83))));
  EXPECT_EQ(over_rows("ReduceSumSquare"), (Doubles{21, 83}));
  EXPECT_THAT(over_rows("ReduceLogSum"), ElementsAre(near(std::log(3)), near(0)));
  EXPECT_THAT(over_rows("ReduceLogSumExp"),
              ElementsAre(near(std::log(std::exp(1) + std::exp(-2) + std::exp(4))),
                          near(std::log(std::exp(3) + std::exp(5) + std::exp(-7)))));
}

TEST(Reductions, OfOuterAxesAndOfNone) {
  const Tensor x = tensor_of<double>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(node_value<double>("ReduceMax", {x}, {{"axes", kEnds}}), (Doubles{6, 8}));
  EXPECT_EQ(node_value<double>("ReduceProd", {x}, {{"axes", kEnds}}), (Doubles{60, 672}));
  EXPECT_EQ(node_value<double>("ReduceL1", {Tensor::scalar(-3.0)}), (Doubles{3}));
  EXPECT_EQ(node_value<double>("ReduceSum", {x}, {{"noop_with_empty_axes", std::int64_t{1}}}),
            (Doubles{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Reductions, OfIntegers) {
  const Tensor x = vector_of(Int32s{-3, 4, 12});
  EXPECT_EQ(node_value<std::int32_t>("ReduceSum", {x}), (Int32s{13}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceMean", {x}), (Int32s{4}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceProd", {x}), (Int32s{-144}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceL1", {x}), (Int32s{19}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceL2", {x}), (Int32s{13}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceSumSquare", {x}), (Int32s{169}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceLogSum", {x}), (Int32s{2}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceLogSumExp", {x}), (Int32s{12}));
  const std::int64_t large = std::int64_t{1} << 60;  // no double holds the sum
  EXPECT_EQ(node_value<std::int64_t>("ReduceSum", {vector_of(Int64s{large, 1, -large})}),
            (Int64s{1}));
  EXPECT_EQ(node_value<std::int32_t>("ReduceSum", {vector_of(Int32s{INT32_MAX, 1})}),
            (Int32s{INT32_MIN}));
  EXPECT_EQ(node_value<std::uint8_t>("ReduceMax", {vector_of(UInt8s{3, 200})}), (UInt8s{200}));
  EXPECT_EQ(node_value<std::uint8_t>("ReduceMin", {vector_of(UInt8s{3, 200})}), (UInt8s{3}));
}

TEST(Reductions, AtTheEndsOfTheNumbers) {
  const Tensor large = vector_of(Doubles{1000, 1000}), none = vector_of(Doubles{-kInfinity});
  EXPECT_THAT(node_value<double>("ReduceLogSumExp", {large}),
              ElementsAre(near(1000 + std::log(2.0))));
  EXPECT_EQ(node_value<double>("ReduceLogSumExp", {none}), (Doubles{-kInfinity}));
  EXPECT_EQ(node_value<double>("ReduceLogSumExp", {vector_of(Doubles{1, kInfinity})}),
            (Doubles{kInfinity}));
  EXPECT_EQ(node_value<double>("ReduceMax", {none}), (Doubles{-kInfinity}));
  const Tensor broken = vector_of(Doubles{1, kNaN, 3});
  EXPECT_THAT(node_value<double>("ReduceMax", {broken}), ElementsAre(IsNan()));
  EXPECT_THAT(node_value<double>("ReduceMin", {broken}), ElementsAre(IsNan()));
}

TEST(CumSum, ExclusiveAndReverse) {
  const Tensor x = tensor_of<double>({2, 3}, {1, 2, 3, 4, 5, 6}),
               axis = Tensor::scalar<std::int64_t>(1);
  const std::int64_t on = 1;
  EXPECT_EQ(node_value<double>("CumSum", {x, axis}), (Doubles{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(node_value<double>("CumSum", {x, axis}, {{"exclusive", on}}),
            (Doubles{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(node_value<double>("CumSum", {x, axis}, {{"reverse", on}}),
            (Doubles{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(node_value<double>("CumSum", {x, axis}, {{"reverse", on}, {"exclusive", on}}),
            (Doubles{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(node_value<double>("CumSum", {x, Tensor::scalar<std::int32_t>(-2)}),
            (Doubles{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(node_value<std::int32_t>(
                "CumSum", {vector_of(Int32s{INT32_MAX, 1}), Tensor::scalar<std::int64_t>(0)}),
            (Int32s{INT32_MAX, INT32_MIN}));
}

TEST(CumSum, RefusesAnAxisThatArrivesOutOfRange) {
  Graph graph = gradstone::testing::one_node(
      "CumSum", {TensorType{DType::kFloat64, {2}}, TensorType{DType::kInt64, {}}});
  const Result<std::vector<Tensor>> result = evaluate(
      graph, {{"x0", Tensor({DType::kFloat64, {2}})}, {"x1", Tensor::scalar<std::int64_t>(1)}});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, ::testing::HasSubstr("axis 1 is outside a tensor of rank 1"));
}

TEST(ArgMax, FirstOrLastOfEqualPlaces) {
  const Tensor x = tensor_of<double>({2, 4}, {1, 7, 7, 1, 5, 2, 9, 2});
  const std::int64_t on = 1;
  const testing::Attributes first = {{"axis", on}};
  const testing::Attributes last = {{"axis", on}, {"select_last_index", on}};
  EXPECT_EQ(node_value<std::int64_t>("ArgMax", {x}, first), (Int64s{1, 2}));
  EXPECT_EQ(node_value<std::int64_t>("ArgMax", {x}, last), (Int64s{2, 2}));
  EXPECT_EQ(node_value<std::int64_t>("ArgMin", {x}, first), (Int64s{0, 1}));
  EXPECT_EQ(node_value<std::int64_t>("ArgMin", {x}, last), (Int64s{3, 3}));
  EXPECT_EQ(node_value<std::int64_t>("ArgMax", {x}), (Int64s{1, 0, 1, 1}));
  EXPECT_EQ(node_value<std::int64_t>("ArgMax", {vector_of(Doubles{1, kNaN, 3, kNaN})}),
            (Int64s{1}));
  EXPECT_EQ(node_value<std::int64_t>("ArgMin", {vector_of(UInt8s{200, 3})}), (Int64s{1}));
}

}  // namespace
}  // namespace gradstone::kernels
