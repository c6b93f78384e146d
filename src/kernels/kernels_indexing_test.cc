// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/testing/computed.h"

namespace gradstone::kernels {
namespace {

using namespace testing;

TEST(IndexingKernels, GatherNdReadsSlicesInBatches) {
  const Tensor x = real({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(computed("GatherND", {x, integral({2, 2}, {0, 1, -1, 0})}), (Numbers{2, 3, 4, 5}));
  EXPECT_EQ(computed("GatherND", {x, integral({2, 1}, {1, 0})}, {{"batch_dims", std::int64_t{1}}}),
            (Numbers{2, 3, 4, 5}));
}

TEST(IndexingKernels, ScatterNdReduces) {
  const Tensor x = real({4}, {1, 2, 3, 4}), at = integral({3, 1}, {1, -1, 1});
  const Tensor updates = real({3}, {5, 6, 7});
  EXPECT_EQ(computed("ScatterND", {x, at, updates}, {{"reduction", "add"}}),
            (Numbers{1, 14, 3, 10}));
  EXPECT_EQ(computed("ScatterND", {x, at, updates}, {{"reduction", "mul"}}),
            (Numbers{1, 70, 3, 24}));
  EXPECT_EQ(computed("ScatterND", {x, integral({1, 1}, {2}), real({1}, {9})}),
            (Numbers{1, 2, 9, 4}));
}

TEST(IndexingKernels, IntegersWrapAround) {
  const Tensor x = tensor(DType::kInt8, {1}, {100});
  EXPECT_EQ(computed("ScatterND", {x, integral({1, 1}, {0}), tensor(DType::kInt8, {1}, {100})},
                     {{"reduction", "add"}}),
            Numbers{-56});
}

TEST(IndexingKernels, ElementsAreNamedAlongOneAxis) {
  const Tensor x = real({2, 2}, {1, 2, 3, 4}), at = integral({1, 2}, {1, 0});
  EXPECT_EQ(computed("GatherElements", {x, at}), (Numbers{3, 2}));
  EXPECT_EQ(computed("GatherElements", {x, at}, {{"axis", std::int64_t{1}}}), (Numbers{2, 1}));
  EXPECT_EQ(computed("ScatterElements", {x, at, real({1, 2}, {8, 9})}), (Numbers{1, 9, 8, 4}));
  EXPECT_EQ(computed("ScatterElements", {x, integral({1, 2}, {0, 0}), real({1, 2}, {8, 9})},
                     {{"axis", std::int64_t{1}}, {"reduction", "add"}}),
            (Numbers{18, 2, 3, 4}));
}

TEST(IndexingKernels, PlacesOutsideAreErrors) {
  const Tensor x = real({2}, {1, 2});
  for (const std::int64_t index : {2, -3}) {
    const auto nd =
        evaluate(gradstone::testing::one_node("GatherND", {x, integral({1, 1}, {index})}), {});
    const auto elements =
        evaluate(gradstone::testing::one_node("GatherElements", {x, list({index})}), {});
    const std::string message = "index " + std::to_string(index) + " is outside an axis of 2";
    for (const auto* values : {&nd, &elements}) {
      ASSERT_FALSE(values->ok());
      EXPECT_NE(values->error().message.find(message), std::string::npos);
    }
  }
}

TEST(IndexingKernels, OneHotLeavesRowsOutsideOff) {
  const Tensor depth = Tensor::scalar(std::int64_t{3}), values = real({2}, {-1, 5});
  EXPECT_EQ(computed("OneHot", {list({1, -1, 3}), depth, values}),
            (Numbers{-1, 5, -1, -1, -1, 5, -1, -1, -1}));
  EXPECT_EQ(computed("OneHot", {list({1, 0}), depth, values}, {{"axis", std::int64_t{0}}}),
            (Numbers{-1, 5, 5, -1, -1, -1}));
}

TEST(IndexingKernels, TopKPrefersTheFirstOfEqualsAndNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto largest = outputs_of("TopK", {real({1, 5}, {1, 3, 3, 2, 0}), list({3})}, {}, 2);
  EXPECT_EQ(numbers(largest[0]), (Numbers{3, 3, 2}));
  EXPECT_EQ(numbers(largest[1]), (Numbers{1, 2, 3}));
  const auto least = outputs_of("TopK", {real({3, 2}, {1, 3, 0, nan, 1, 2}), list({2})},
                                {{"axis", std::int64_t{0}}, {"largest", std::int64_t{0}}}, 2);
  EXPECT_EQ(numbers(least[0]), (Numbers{0, 2, 1, 3}));
  EXPECT_EQ(numbers(least[1]), (Numbers{1, 2, 0, 0}));
  const auto with_nan = outputs_of("TopK", {real({3}, {1, nan, 2}), list({2})}, {}, 2);
  EXPECT_EQ(numbers(with_nan[1]), (Numbers{1, 2}));
}

TEST(GeneratorKernels, Values) {
  const Tensor x = real({2, 3, 1}, Numbers(6, 0.0));
  EXPECT_EQ(computed("Shape", {x}), (Numbers{2, 3, 1}));
  EXPECT_EQ(computed("Shape", {x}, {{"start", std::int64_t{-2}}}), (Numbers{3, 1}));
  EXPECT_EQ(computed("Shape", {x}, {{"start", std::int64_t{-9}}, {"end", std::int64_t{-1}}}),
            (Numbers{2, 3}));
  EXPECT_EQ(computed("Size", {x}), Numbers{6});
  EXPECT_EQ(computed("ConstantOfShape", {list({2})}, {{"value", 3.0}, {"dtype", "int8"}}),
            (Numbers{3, 3}));
  EXPECT_EQ(computed("Range", {Tensor::scalar(1.0), Tensor::scalar(0.0), Tensor::scalar(-0.25)}),
            (Numbers{1, 0.75, 0.5, 0.25}));
  const auto integer = [](std::int64_t value) { return Tensor::scalar(value); };
  EXPECT_EQ(computed("Range", {integer(-1), integer(6), integer(3)}), (Numbers{-1, 2, 5}));
  const Tensor matrix = real({2, 3}, Numbers(6, 7.0));
  EXPECT_EQ(computed("EyeLike", {matrix}), (Numbers{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(computed("EyeLike", {matrix}, {{"k", std::int64_t{2}}}), (Numbers{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(computed("EyeLike", {matrix}, {{"k", std::int64_t{-1}}}), (Numbers{0, 0, 0, 1, 0, 0}));
}

}  // namespace
}  // namespace gradstone::kernels
