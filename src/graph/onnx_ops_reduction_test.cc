// SPDX-License-Identifier: Apache-2.0
// Shapes, types, faults and costs of reductions and of operators along one axis.
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

constexpr std::int64_t kOn = 1, kOff = 0;
constexpr const char* kReductions[] = {"ReduceMean",      "ReduceProd",   "ReduceMax",
                                       "ReduceMin",       "ReduceL1",     "ReduceL2",
                                       "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};

TEST(Reductions, HaveAxesAsAnAttribute) {
  const TensorType input = f32({2, 3, 4});
  for (const char* op : kReductions) {
    SCOPED_TRACE(op);
    EXPECT_EQ(outcome(op, {input}), "float32 [1, 1, 1]");
    EXPECT_EQ(outcome(op, {input}, {{"axes", Ints{-1, 0}}}), "float32 [1, 3, 1]");
    EXPECT_EQ(outcome(op, {input}, {{"axes", Ints{1}}, {"keepdims", kOff}}), "float32 [2, 4]");
    EXPECT_EQ(outcome(op, {input}, {{"axes", Ints{3}}}), "axis 3 is outside a tensor of rank 3");
    EXPECT_EQ(outcome(op, {input, list({1})}), "has 2 inputs; expected 1");
    EXPECT_EQ(outcome(op, {i64({2})}), "int64 [1]");
    EXPECT_EQ(outcome(op, {f32({})}), "float32 []");
  }
}

TEST(Reductions, OfSmallIntegers) {
  const TensorType bytes = {DType::kUInt8, {4}};
  EXPECT_EQ(outcome("ReduceMax", {bytes}), "uint8 [1]");
  EXPECT_EQ(outcome("ReduceMin", {bytes}), "uint8 [1]");
  EXPECT_EQ(outcome("ReduceSum", {bytes}),
            "the input is uint8; the operator needs float32, float64, int32 or int64");
}

TEST(ReductionCosts, AreTheOperationsOfTheFormula) {
  const TensorType input = f32({4, 3});
  const auto flops = [&](const char* op) {
    return cost(one_node(op, {input}, {{"axes", Ints{1}}})).flops;
  };
  for (const char* op : {"ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin"}) {
    EXPECT_EQ(flops(op), 12) << op;
  }
  EXPECT_EQ(flops("ReduceL1"), 24);
  EXPECT_EQ(flops("ReduceSumSquare"), 24);
  EXPECT_EQ(flops("ReduceL2"), 24 + 4 /* roots */);
  EXPECT_EQ(flops("ReduceLogSum"), 12 + 4 /* logarithms */);
  EXPECT_EQ(flops("ReduceLogSumExp"), 4 * 12 + 2 * 4);
  EXPECT_EQ(cost(one_node("CumSum", {input, list({0})})).flops, 12);
  EXPECT_EQ(cost(one_node("ArgMax", {input})).flops, 12);
}

TEST(CumSum, ShapesAndFaults) {
  EXPECT_EQ(outcome("CumSum", {f32({2, 3}), list({-2})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("CumSum", {i64({2}), TensorType{DType::kInt32, {}}}), "int64 [2]");
  EXPECT_EQ(outcome("CumSum", {f32({2, 3}), list({2})}), "axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(outcome("CumSum", {f32({2}), list({0, 1})}), "axis has shape [2]; expected one number");
  EXPECT_EQ(outcome("CumSum", {f32({2}), f32({})}), "axis is float32; expected int32 or int64");
}

TEST(ArgMax, ShapesAndFaults) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    EXPECT_EQ(outcome(op, {f32({2, 3})}), "int64 [1, 3]");
    EXPECT_EQ(outcome(op, {f32({2, 3})}, {{"axis", std::int64_t{-1}}, {"keepdims", kOff}}),
              "int64 [2]");
    EXPECT_EQ(outcome(op, {TensorType{DType::kInt8, {2}}}, {{"select_last_index", kOn}}),
              "int64 [1]");
    EXPECT_EQ(outcome(op, {f32({2})}, {{"axis", kOn}}), "axis 1 is outside a tensor of rank 1");
    EXPECT_EQ(outcome(op, {TensorType{DType::kBool, {2}}}),
              "the input is bool; the operator needs numbers");
  }
}

}  // namespace
}  // namespace gradstone
