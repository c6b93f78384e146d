// SPDX-License-Identifier: Apache-2.0
// Normalizations of samples whose statistics are whole numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/testing/node_value.h"

namespace gradstone::kernels {
namespace {

using testing::node_value;
using testing::node_values;
using testing::tensor_of;
using testing::vector_of;
using Doubles = std::vector<double>;

const testing::Attributes kExact = {{"epsilon", 0.0}};

// Means 2, 7, 10, 2 and deviations 1, 2, 5, 0.
const Tensor kPairs = tensor_of<double>({2, 2, 2}, {1, 3, 9, 5, 15, 5, 2, 2});

TEST(LayerNormalization, OfTheLastAxis) {
  const Tensor x = tensor_of<double>({3, 2}, {1, 3, 9, 5, 15, 5});
  const std::vector<Tensor> outputs =
      node_values("LayerNormalization", {x, vector_of(Doubles{2, 3}), vector_of(Doubles{10, 20})},
                  kExact, 3)
          .value();
  const auto elements = [&](std::size_t i) {
    const std::span<const double> values = outputs[i].as<double>();
    return Doubles(values.begin(), values.end());
  };
  EXPECT_EQ(elements(0), (Doubles{8, 23, 12, 17, 12, 17}));
  EXPECT_EQ(elements(1), (Doubles{2, 7, 10}));
  EXPECT_EQ(elements(2), (Doubles{1, 0.5, 0.2}));
}

TEST(LayerNormalization, OfSeveralAxesWithEpsilonAndBroadcastScale) {
  // Mean 0, variance 4; epsilon makes the deviation 4.
  const Tensor x = tensor_of<double>({1, 2, 2}, {2, -2, -2, 2});
  EXPECT_EQ(node_value<double>("LayerNormalization", {x, tensor_of<double>({2, 1}, {1, 10})},
                               {{"axis", std::int64_t{1}}, {"epsilon", 12.0}}),
            (Doubles{0.5, -0.5, -5, 5}));
}

TEST(InstanceNormalization, OfEachChannelOfEachSample) {
  EXPECT_EQ(node_value<double>("InstanceNormalization",
                               {kPairs, vector_of(Doubles{2, 3}), vector_of(Doubles{10, 20})},
                               {{"epsilon", 1e-300}}),
            (Doubles{8, 12, 23, 17, 12, 8, 20, 20}));
}

TEST(MeanVarianceNormalization, OverTheAxesAsked) {
  const Doubles by_last = node_value<double>("MeanVarianceNormalization", {kPairs},
                                             {{"axes", std::vector<std::int64_t>{-1}}});
  const Doubles expected = {-1, 1, 1, -1, 1, -1, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(by_last[i], expected[i], 1.5e-9) << i;
  // By default each channel of an image over batch, height and width.
  const Tensor images = tensor_of<double>({2, 2, 1, 1}, {1, 4, 3, 8});
  const Doubles by_channel = node_value<double>("MeanVarianceNormalization", {images});
  const Doubles signs = {-1, -1, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(by_channel[i], signs[i], 1.5e-9) << i;
}

TEST(LayerNormalization, OfLargeMeansKeepsTheVariance) {
  const Doubles y =
      node_value<double>("LayerNormalization",
                         {vector_of(Doubles{1e8 + 1, 1e8 + 3}), vector_of(Doubles{1, 1})}, kExact);
  EXPECT_EQ(y, (Doubles{-1, 1}));
}

}  // namespace
}  // namespace gradstone::kernels
