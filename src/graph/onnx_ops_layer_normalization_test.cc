// SPDX-License-Identifier: Apache-2.0
// Shapes, faults and costs of the normalizations of each sample.
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

TEST(LayerNormalization, Shapes) {
  const TensorType input = f32({2, 3, 4});
  EXPECT_EQ(outcome("LayerNormalization", {input, f32({4}), f32({4})}), "float32 [2, 3, 4]");
  EXPECT_EQ(outcome("LayerNormalization", {input, f32({3, 4})}, {{"axis", std::int64_t{1}}}, 3),
            "float32 [2, 3, 4], float32 [2, 1, 1], float32 [2, 1, 1]");
  EXPECT_EQ(outcome("LayerNormalization", {input, f32({4})}, {{"axis", std::int64_t{-3}}}, 3),
            "float32 [2, 3, 4], float32 [1, 1, 1], float32 [1, 1, 1]");
  const TensorType exact = {DType::kFloat64, {2, 4}};
  const TensorType scale = {DType::kFloat64, {4}};
  EXPECT_EQ(outcome("LayerNormalization", {exact, scale}, {{"stash_type", std::int64_t{1}}}, 2),
            "float64 [2, 4], float64 [2, 1]");
}

TEST(LayerNormalization, Faults) {
  const TensorType input = f32({2, 3, 4});
  EXPECT_EQ(outcome("LayerNormalization", {input, f32({3})}),
            "scale has shape [3], which does not broadcast to [4]");
  EXPECT_EQ(outcome("LayerNormalization", {input, f32({4}), f32({3, 4})}),
            "bias has shape [3, 4], which does not broadcast to [4]");
  EXPECT_EQ(outcome("LayerNormalization", {input, f32({4})}, {{"axis", std::int64_t{3}}}),
            "axis 3 is outside a tensor of rank 3");
  EXPECT_EQ(outcome("LayerNormalization", {i64({4}), i64({4})}),
            "the input is int64; the operator needs float32 or float64");
}

TEST(InstanceNormalization, ShapesAndFaults) {
  const TensorType image = f32({2, 3, 4, 5}), channels = f32({3});
  EXPECT_EQ(outcome("InstanceNormalization", {image, channels, channels}), "float32 [2, 3, 4, 5]");
  EXPECT_EQ(outcome("InstanceNormalization", {image, channels, f32({4})}),
            "bias has shape [4]; expected [3]");
  EXPECT_EQ(outcome("InstanceNormalization", {f32({2, 3}), channels, channels}),
            "the input has shape [2, 3]; expected [batch, channels, 1 or more spatial axes]");
}

TEST(MeanVarianceNormalization, ShapesAndFaults) {
  EXPECT_EQ(outcome("MeanVarianceNormalization", {f32({2, 3, 4, 5})}), "float32 [2, 3, 4, 5]");
  EXPECT_EQ(outcome("MeanVarianceNormalization", {f32({2, 3})}, {{"axes", Ints{-1}}}),
            "float32 [2, 3]");
  EXPECT_EQ(outcome("MeanVarianceNormalization", {f32({2, 3})}),
            "axis 2 is outside a tensor of rank 2");
}

TEST(NormalizationCosts, AreTheOperationsOfTheFormula) {
  const TensorType image = f32({2, 3, 4}), scale = f32({4}), channels = f32({3});
  EXPECT_EQ(cost(one_node("LayerNormalization", {image, scale})).flops, 7 * 24);
  EXPECT_EQ(cost(one_node("LayerNormalization", {image, scale, scale})).flops, 8 * 24);
  EXPECT_EQ(cost(one_node("InstanceNormalization", {image, channels, channels})).flops, 6 * 24);
  EXPECT_EQ(cost(one_node("MeanVarianceNormalization", {image}, {{"axes", Ints{0}}})).flops,
            6 * 24);
}

}  // namespace
}  // namespace gradstone
