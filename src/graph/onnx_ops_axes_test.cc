// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

TEST(SqueezeRule, DropsAndAddsAxes) {
  EXPECT_EQ(outcome("Squeeze", {f32({1, 2, 1, 3})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("Squeeze", {f32({1, 2, 1, 3}), list({-2})}), "float32 [1, 2, 3]");
  EXPECT_EQ(outcome("Squeeze", {f32({1, 2}), list({1})}),
            "axis 1 of input [1, 2] has not extent 1");
  EXPECT_EQ(outcome("Squeeze", {f32({1, 2}), i64({1})}),
            "axes is not a constant; shapes are static, make it one");
  EXPECT_EQ(outcome("Unsqueeze", {f32({2, 3}), list({3, 0})}), "float32 [1, 2, 3, 1]");
  EXPECT_EQ(outcome("Unsqueeze", {f32({2}), list({0, -3})}), "axis 0 is named twice");
  EXPECT_EQ(outcome("Unsqueeze", {f32({2}), list({2})}), "axis 2 is outside a tensor of rank 2");
}

TEST(TileRule, MultipliesExtents) {
  EXPECT_EQ(outcome("Tile", {f32({2, 3}), list({2, 1})}), "float32 [4, 3]");
  EXPECT_EQ(outcome("Tile", {f32({2, 3}), list({2})}), "repeats has 1 items; expected 2");
  EXPECT_EQ(outcome("Tile", {f32({2}), list({-1})}), "repeats [-1] has a negative item");
  EXPECT_EQ(outcome("Tile", {f32({2, 2}), list({std::int64_t{1} << 62, 4})}),
            "shape [9223372036854775807, 8] has more than 2^40 elements");
}

TEST(SplitRule, CutsAnAxis) {
  EXPECT_EQ(outcome("Split", {f32({4, 2})}, {}, 2), "float32 [2, 2], float32 [2, 2]");
  EXPECT_EQ(outcome("Split", {f32({2, 5}), list({4, 1})}, {{"axis", std::int64_t{-1}}}, 2),
            "float32 [2, 4], float32 [2, 1]");
  EXPECT_EQ(outcome("Split", {f32({5})}, {}, 2),
            "an extent of 5 does not split into 2 equal parts; give their extents in input split");
  EXPECT_EQ(outcome("Split", {f32({5}), list({2, 2})}, {}, 2),
            "split [2, 2] does not give 2 outputs that sum to 5");
  EXPECT_EQ(outcome("Split", {f32({5}), list({5})}, {}, 2),
            "split [5] does not give 2 outputs that sum to 5");
  EXPECT_EQ(outcome("Split", {f32({5}), list({6, -1})}, {}, 2), "split holds -1");
}

TEST(DepthToSpaceRule, TradesChannelsForPixels) {
  const Attributes two = {{"blocksize", std::int64_t{2}}};
  EXPECT_EQ(outcome("DepthToSpace", {f32({1, 8, 2, 3})}, two), "float32 [1, 2, 4, 6]");
  EXPECT_EQ(outcome("SpaceToDepth", {f32({1, 2, 4, 6})}, two), "float32 [1, 8, 2, 3]");
  EXPECT_EQ(outcome("DepthToSpace", {f32({1, 6, 2, 3})}, two),
            "blocksize 2 squared does not divide 6 channels");
  EXPECT_EQ(outcome("SpaceToDepth", {f32({1, 2, 3, 6})}, two),
            "blocksize 2 does not divide the image [1, 2, 3, 6]");
  EXPECT_EQ(outcome("SpaceToDepth", {f32({1, 2, 3, 6})}, {{"blocksize", std::int64_t{0}}}),
            "blocksize = 0; expected 1 to 2^20");
}

TEST(TriluRule, KeepsTheShape) {
  EXPECT_EQ(outcome("Trilu", {f32({2, 3, 4}), Tensor::scalar(std::int64_t{1})}),
            "float32 [2, 3, 4]");
  EXPECT_EQ(outcome("Trilu", {f32({4})}), "the input has shape [4]; expected matrices");
  EXPECT_EQ(outcome("Trilu", {f32({4, 4}), f32({})}), "k is float32 []; expected one int64");
}

TEST(PadRule, AddsAndTakesAway) {
  EXPECT_EQ(outcome("Pad", {f32({4, 3}), list({-1, 2, 0, 1})}), "float32 [3, 6]");
  EXPECT_EQ(outcome("Pad", {f32({4, 3}), list({1, 5, 0, 1})}, {{"mode", "reflect"}}),
            "float32 [5, 9]");
  EXPECT_EQ(outcome("Pad", {f32({4, 3}), list({-2, 0, -2, 0})}),
            "the output would have shape [0, 3], which holds nothing");
  EXPECT_EQ(outcome("Pad", {f32({4, 3}), list({-4, 0, 4, 0})}, {{"mode", "edge"}}),
            "pads [-4, 0, 4, 0] take away all of axis 0");
  EXPECT_EQ(outcome("Pad", {f32({4}), list({1})}), "pads has 1 items; expected 2");
}

}  // namespace
}  // namespace gradstone
