// SPDX-License-Identifier: Apache-2.0
#include "recipe/initial_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gradstone {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Moments moments_of(const Tensor& tensor) {
  Moments moments{0, 0, INFINITY, -INFINITY};
  const std::int64_t count = tensor.type().elements();
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = element_as_double(tensor.ref(), i);
    moments.mean += x;
    squares += x * x;
    moments.low = std::min(moments.low, x);
    moments.high = std::max(moments.high, x);
  }
  moments.mean /= static_cast<double>(count);
  moments.deviation = std::sqrt(squares / static_cast<double>(count) - moments.mean * moments.mean);
  return moments;
}

Moments drawn(const Shape& shape, Initializer initializer) {
  const Weight weight = {"w", {DType::kFloat64, shape}, initializer, true};
  return moments_of(initial_value(weight, 11));
}

// A uniform distribution on (-l, l) of n draws: all inside, the ends nearly reached, deviation
// l / sqrt(3).
void expect_uniform(const Moments& moments, double limit) {
  EXPECT_GE(moments.low, -limit);
  EXPECT_LT(moments.high, limit);
  EXPECT_LT(moments.low, -0.999 * limit);
  EXPECT_GT(moments.high, 0.999 * limit);
  EXPECT_NEAR(moments.mean / limit, 0, 0.01);
  EXPECT_NEAR(moments.deviation / limit, 1 / std::sqrt(3.0), 0.005);
}

// [out, in, h, w] and [rows, columns]; more than 50000 draws each.
const Shape kKernel = {64, 32, 5, 5};
constexpr double kKernelIn = 32 * 25, kKernelOut = 64 * 25;
const Shape kMatrix = {400, 150};

TEST(InitialWeights, Constant) {
  const Moments moments = drawn({1000}, Initializer::constant(0.1));
  EXPECT_EQ(moments.low, 0.1);
  EXPECT_EQ(moments.high, 0.1);
}

TEST(InitialWeights, UniformAndNormalFollowTheirParameters) {
  const Moments uniform = drawn(kMatrix, Initializer::uniform(2, 5));
  EXPECT_GE(uniform.low, 2);
  EXPECT_LT(uniform.high, 5);
  EXPECT_NEAR(uniform.mean, 3.5, 0.01);
  EXPECT_NEAR(uniform.deviation, 3 / std::sqrt(12.0), 0.01);
  const Moments normal = drawn(kMatrix, Initializer::normal(-1, 0.5));
  EXPECT_NEAR(normal.mean, -1, 0.01);
  EXPECT_NEAR(normal.deviation, 0.5, 0.005);
  EXPECT_GT(normal.high, -1 + 3 * 0.5);
}

// Standard normal cut at +-2: variance 1 - 4 phi(2) / (2 Phi(2) - 1).
TEST(InitialWeights, TruncatedNormalStaysInsideTwoDeviations) {
  const double density = std::exp(-2.0) / std::sqrt(2 * std::numbers::pi);
  const double inside = std::erf(std::sqrt(2.0));
  const Moments moments = drawn(kKernel, Initializer::truncated_normal(1, 0.1));
  EXPECT_NEAR(moments.mean, 1, 0.002);
  EXPECT_NEAR(moments.deviation, 0.1 * std::sqrt(1 - 4 * density / inside), 0.001);
  EXPECT_GE(moments.low, 0.8);
  EXPECT_LE(moments.high, 1.2);
  EXPECT_LT(moments.low, 0.801);
  EXPECT_GT(moments.high, 1.199);
}

TEST(InitialWeights, FansOfKernelsAndMatrices) {
  expect_uniform(drawn(kKernel, Initializer::xavier_uniform(2)),
                 2 * std::sqrt(6 / (kKernelIn + kKernelOut)));
  expect_uniform(drawn(kKernel, Initializer::xavier_fan_in()), std::sqrt(3 / kKernelIn));
  expect_uniform(drawn(kKernel, Initializer::fan_in_uniform()), 1 / std::sqrt(kKernelIn));
  expect_uniform(drawn(kMatrix, Initializer::xavier_fan_in()), std::sqrt(3.0 / 150));
  const Moments in = drawn(kKernel, Initializer::he_normal(3));
  EXPECT_NEAR(in.deviation / (3 * std::sqrt(2 / kKernelIn)), 1, 0.01);
  const Moments out = drawn(kKernel, Initializer::he_normal_fan_out());
  EXPECT_NEAR(out.deviation / std::sqrt(2 / kKernelOut), 1, 0.01);
  const Moments rows = drawn(kMatrix, Initializer::he_normal_fan_out());
  EXPECT_NEAR(rows.deviation / std::sqrt(2.0 / 400), 1, 0.01);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < a.type().elements(); ++i) {
    if (element_as_double(a.ref(), i) != element_as_double(b.ref(), i)) return false;
  }
  return true;
}

TEST(InitialWeights, DependOnSeedAndNameOnly) {
  for (const Initializer& initializer :
       {Initializer::normal(0, 1), Initializer::truncated_normal(0, 1),
        Initializer::uniform(0, 1)}) {
    const Weight weight = {"conv1.weight", {DType::kFloat64, {100}}, initializer, true};
    const Tensor first = initial_value(weight, 1);
    EXPECT_TRUE(same_elements(first, initial_value(weight, 1)));
    EXPECT_FALSE(same_elements(first, initial_value(weight, 2)));
    Weight other = weight;
    other.name = "conv2.weight";
    EXPECT_FALSE(same_elements(first, initial_value(other, 1)));
    // The first elements of a longer weight are the same, since element i uses number i.
    Weight longer = weight;
    longer.type.shape = {200};
    EXPECT_TRUE(same_elements(first, initial_value(longer, 1)));
  }
}

TEST(InitialWeights, Float32IsFloat64Rounded) {
  Weight weight = {"w", {DType::kFloat64, {1000}}, Initializer::normal(0, 1), true};
  const Tensor exact = initial_value(weight, 5);
  weight.type.dtype = DType::kFloat32;
  const Tensor rounded = initial_value(weight, 5);
  ASSERT_EQ(rounded.type().dtype, DType::kFloat32);
  for (std::int64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(element_as_double(rounded.ref(), i),
              static_cast<double>(static_cast<float>(element_as_double(exact.ref(), i))));
  }
}

Tensor mask_of(std::string_view node, std::uint64_t seed, std::int64_t step, double ratio) {
  Tensor mask({DType::kFloat32, {50, 1000}});
  fill_dropout_mask(node, seed, step, ratio, mask.sink());
  return mask;
}

TEST(DropoutMask, DropsItsRatioAndKeepsTheMean) {
  const Tensor mask = mask_of("dropout", 1, 0, 0.2);
  std::int64_t dropped = 0;
  for (const float element : mask.as<float>()) {
    if (element == 0) {
      ++dropped;
    } else {
      ASSERT_EQ(element, 1.25f);
    }
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 50000, 0.2, 0.01);
}

TEST(DropoutMask, DependsOnNodeSeedAndStep) {
  const Tensor mask = mask_of("dropout", 1, 3, 0.5);
  EXPECT_TRUE(same_elements(mask, mask_of("dropout", 1, 3, 0.5)));
  EXPECT_FALSE(same_elements(mask, mask_of("dropout", 1, 4, 0.5)));
  EXPECT_FALSE(same_elements(mask, mask_of("dropout", 2, 3, 0.5)));
  EXPECT_FALSE(same_elements(mask, mask_of("dropout2", 1, 3, 0.5)));
}

TEST(DropoutMask, IsTheSameInBothPrecisions) {
  Tensor wide({DType::kFloat64, {50, 1000}});
  fill_dropout_mask("dropout", 1, 3, 0.5, wide.sink());
  EXPECT_TRUE(same_elements(wide, mask_of("dropout", 1, 3, 0.5)));
}

}  // namespace
}  // namespace gradstone
