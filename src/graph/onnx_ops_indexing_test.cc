// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

TEST(GatherNdRule, Shapes) {
  EXPECT_EQ(outcome("GatherND", {f32({2, 3, 4}), i64({5, 2})}), "float32 [5, 4]");
  EXPECT_EQ(
      outcome("GatherND", {f32({2, 3, 4}), i64({2, 5, 1})}, {{"batch_dims", std::int64_t{1}}}),
      "float32 [2, 5, 4]");
  EXPECT_EQ(outcome("GatherND", {f32({2, 3}), i64({3, 1})}, {{"batch_dims", std::int64_t{1}}}),
            "batch_dims = 1 does not fit data [2, 3] and indices [3, 1]");
  EXPECT_EQ(outcome("GatherND", {f32({2, 3}), i64({3, 4})}),
            "indices [3, 4] hold 4 numbers a place; the data [2, 3] takes 1 to 2");
  EXPECT_EQ(outcome("GatherND", {f32({2, 3}), f32({3, 1})}),
            "indices is float32 [3, 1]; expected int64");
}

TEST(ScatterNdRule, Shapes) {
  EXPECT_EQ(outcome("ScatterND", {f32({4, 3}), i64({2, 1}), f32({2, 3})}), "float32 [4, 3]");
  EXPECT_EQ(outcome("ScatterND", {f32({4, 3}), i64({2, 1}), f32({2})}),
            "updates has shape [2]; expected [2, 3]");
  EXPECT_EQ(outcome("ScatterND", {f32({4}), i64({2, 1}), i64({2})}),
            "updates is int64, the first input is float32");
  EXPECT_EQ(outcome("ScatterND", {f32({4}), i64({2, 1}), f32({2})}, {{"reduction", "max"}}),
            "attribute 'reduction' has no choice 'max'");
}

TEST(GatherElementsRule, Shapes) {
  EXPECT_EQ(outcome("GatherElements", {f32({2, 3}), i64({7, 3})}), "float32 [7, 3]");
  EXPECT_EQ(outcome("GatherElements", {f32({2, 3}), i64({2, 4})}),
            "indices [2, 4] reach beyond data [2, 3] along axis 1");
  EXPECT_EQ(outcome("GatherElements", {f32({2, 3}), i64({2})}),
            "indices has shape [2]; expected rank 2");
  EXPECT_EQ(outcome("ScatterElements", {f32({2, 3}), i64({1, 2}), f32({1, 2})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("ScatterElements", {f32({2, 3}), i64({1, 2}), f32({2, 2})}),
            "updates has shape [2, 2]; expected [1, 2]");
}

TEST(OneHotRule, Shapes) {
  const Tensor depth = Tensor::scalar(std::int64_t{5});
  EXPECT_EQ(outcome("OneHot", {i64({2, 3}), depth, f32({2})}), "float32 [2, 3, 5]");
  EXPECT_EQ(outcome("OneHot", {f32({2, 3}), depth, i64({2})}, {{"axis", std::int64_t{0}}}),
            "int64 [5, 2, 3]");
  EXPECT_EQ(outcome("OneHot", {i64({2}), i64({}), f32({2})}),
            "depth is not a constant; make it one");
  EXPECT_EQ(outcome("OneHot", {i64({2}), depth, f32({3})}),
            "values has shape [3]; expected [2]: off, on");
}

TEST(TopKRule, Shapes) {
  EXPECT_EQ(outcome("TopK", {f32({2, 5}), list({3})}, {}, 2), "float32 [2, 3], int64 [2, 3]");
  EXPECT_EQ(outcome("TopK", {f32({2, 5}), list({3})}, {{"axis", std::int64_t{0}}}, 2),
            "K = [3] along an axis of 2");
  EXPECT_EQ(cost(one_node("TopK", {f32({2, 5}), list({3})}, {}, 2)).flops, 10);
}

TEST(GeneratorRules, Shapes) {
  EXPECT_EQ(outcome("Shape", {f32({2, 3, 4})}), "int64 [3]");
  EXPECT_EQ(outcome("Shape", {f32({2, 3, 4})}, {{"start", std::int64_t{-2}}}), "int64 [2]");
  EXPECT_EQ(outcome("Shape", {f32({2, 3, 4})}, {{"end", std::int64_t{9}}}), "int64 [3]");
  EXPECT_EQ(outcome("Size", {f32({2, 3, 4})}), "int64 []");
  EXPECT_EQ(outcome("ConstantOfShape", {list({2, 3})}, {{"dtype", "int64"}}), "int64 [2, 3]");
  EXPECT_EQ(outcome("EyeLike", {f32({2, 3})}, {{"dtype", std::int64_t{7}}}), "int64 [2, 3]");
  EXPECT_EQ(outcome("EyeLike", {f32({2})}), "the input has shape [2]; expected rank 2");
}

TEST(GeneratorRules, RangesEndAndAreFinite) {
  const auto range = [](double start, double limit, double delta) {
    return outcome("Range", {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)});
  };
  EXPECT_EQ(range(1, 2, 0.25), "float64 [4]");
  EXPECT_EQ(range(1, 2.01, 0.25), "float64 [5]");
  EXPECT_EQ(range(3, 0, -1), "float64 [3]");
  EXPECT_EQ(range(0, 3, -1), "the output would have shape [0], which holds nothing");
  EXPECT_EQ(range(0, 3, 0), "the numbers from 0.000000 to 3.000000 by 0.000000 do not end");
}

}  // namespace
}  // namespace gradstone
