// SPDX-License-Identifier: Apache-2.0
// ConvTranspose's shapes by ONNX's formulas, and costs.
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

std::string transposed(const Shape& input, const Shape& weight, Attributes attributes) {
  return outcome("ConvTranspose", {f32(input), f32(weight)}, std::move(attributes));
}

TEST(ConvTransposeRule, Shapes) {
  EXPECT_EQ(transposed({1, 2, 5}, {2, 3, 4}, {}), "float32 [1, 3, 8]");
  EXPECT_EQ(transposed({1, 4, 5, 5}, {4, 3, 3, 3}, {{"group", std::int64_t{2}}}),
            "float32 [1, 6, 7, 7]");
  EXPECT_EQ(
      transposed({1, 1, 3, 3}, {1, 1, 3, 3}, {{"strides", Ints{3, 2}}, {"pads", Ints{1, 2, 1, 2}}}),
      "float32 [1, 1, 7, 3]");
  EXPECT_EQ(transposed({1, 1, 3, 3}, {1, 1, 3, 3},
                       {{"strides", Ints{3, 2}}, {"output_padding", Ints{2, 1}}}),
            "float32 [1, 1, 11, 8]");
  EXPECT_EQ(transposed({1, 1, 3, 3}, {1, 1, 2, 2}, {{"dilations", Ints{2, 3}}}),
            "float32 [1, 1, 5, 6]");
  EXPECT_EQ(
      transposed({1, 1, 3, 3}, {1, 1, 3, 3}, {{"auto_pad", "SAME_LOWER"}, {"strides", Ints{4, 2}}}),
      "float32 [1, 1, 12, 6]");
  EXPECT_EQ(transposed({1, 1, 3, 3}, {1, 1, 3, 3},
                       {{"output_shape", Ints{10, 8}}, {"strides", Ints{3, 2}}}),
            "float32 [1, 1, 10, 8]");
}

TEST(ConvTransposeRule, Faults) {
  EXPECT_EQ(transposed({1, 2, 5}, {3, 3, 4}, {}), "weight has 3 input channels, the input has 2");
  EXPECT_EQ(transposed({1, 3, 5}, {3, 3, 4}, {{"group", std::int64_t{2}}}),
            "group = 2 does not divide 3 input channels");
  EXPECT_EQ(transposed({1, 1, 2}, {1, 1, 2}, {{"pads", Ints{2, 2}}}),
            "pads take away all of spatial axis 0");
  EXPECT_EQ(transposed({1, 1, 1 << 20}, {1, 1, 2}, {{"strides", Ints{1 << 30}}}),
            "an output extent is above 2^40");
  EXPECT_EQ(outcome("ConvTranspose", {f32({1, 1, 2}), f32({1, 4, 2}), f32({3})}),
            "bias has shape [3]; expected [4]");
}

// 2 * 5 inputs, 3 * 4 weights for each of their channels; a bias for each of 3 * 8 outputs.
TEST(ConvTransposeRule, Costs) {
  const NodeCost found =
      cost(one_node("ConvTranspose", {f32({1, 2, 5}), f32({2, 3, 4}), f32({3})}));
  EXPECT_EQ(found.multiply_adds, 10 * 12);
  EXPECT_EQ(found.flops, 2 * 10 * 12 + 24);
}

TEST(MaxPoolRule, IndicesAndTypes) {
  const Attributes two = {{"kernel_shape", Ints{2}}};
  EXPECT_EQ(outcome("MaxPool", {f32({1, 2, 4})}, two, 2), "float32 [1, 2, 3], int64 [1, 2, 3]");
  EXPECT_EQ(outcome("MaxPool", {TensorType{DType::kInt8, {1, 2, 4}}}, two), "int8 [1, 2, 3]");
  EXPECT_EQ(outcome("MaxPool", {i64({1, 2, 4})}, two),
            "the input is int64; the operator needs float32 or float64");
  EXPECT_EQ(outcome("GlobalMaxPool", {f32({2, 3, 4, 5})}), "float32 [2, 3, 1, 1]");
  EXPECT_EQ(cost(one_node("GlobalMaxPool", {f32({2, 3, 4, 5})})).flops, 120);
}

}  // namespace
}  // namespace gradstone
