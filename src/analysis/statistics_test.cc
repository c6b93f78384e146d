// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gradstone {
namespace {

using Samples = std::vector<double>;

TEST(Statistics, MeanVarianceAndQuantiles) {
  const Samples samples = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(mean(samples), 2.5);
  EXPECT_DOUBLE_EQ(variance(samples), 5.0 / 3);
  EXPECT_DOUBLE_EQ(median(samples), 2.5);
  EXPECT_DOUBLE_EQ(median(Samples{5, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 1.75);
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median(Samples{1, std::nan(""), 0})));
  EXPECT_FALSE(median_estimate(Samples(9, std::nan(""))).low.has_value());
  EXPECT_TRUE(std::isnan(variance(Samples{1})));
}

// Table of Student (Biometrika, and every textbook since): two-sided 95 % and 99 %.
TEST(Statistics, StudentQuantilesMatchTheTable) {
  const struct {
    double degrees, at_975, at_995;
  } rows[] = {{1, 12.706, 63.657}, {2, 4.303, 9.925},  {3, 3.182, 5.841},  {4, 2.776, 4.604},
              {5, 2.571, 4.032},   {9, 2.262, 3.250},  {10, 2.228, 3.169}, {19, 2.093, 2.861},
              {30, 2.042, 2.750},  {60, 2.000, 2.660}, {120, 1.980, 2.617}};
  for (const auto& row : rows) {
    EXPECT_NEAR(student_t_quantile(0.975, row.degrees), row.at_975, 6e-4) << row.degrees;
    EXPECT_NEAR(student_t_quantile(0.995, row.degrees), row.at_995, 6e-4) << row.degrees;
  }
  EXPECT_NEAR(student_t_quantile(0.975, 1e7), 1.959964, 1e-5);
}

TEST(Statistics, StudentClosedForms) {
  for (const double t : {-3.0, -0.5, 0.0, 0.2, 1.0, 7.0}) {
    EXPECT_NEAR(student_t_probability(t, 1), 0.5 + std::atan(t) / std::numbers::pi, 1e-14);
    EXPECT_NEAR(student_t_probability(t, 2), 0.5 + t / (2 * std::sqrt(2 + t * t)), 1e-14);
  }
  // One degree is Cauchy: the quantile is a tangent.
  EXPECT_NEAR(student_t_quantile(0.975, 1), std::tan(std::numbers::pi * 0.475), 1e-10);
  EXPECT_DOUBLE_EQ(student_t_quantile(0.1, 7), -student_t_quantile(0.9, 7));
}

TEST(Statistics, MeanIntervalIsStudents) {
  const Estimate estimate = mean_estimate(Samples{1, 2, 3});  // s^2 = 1, n = 3
  EXPECT_DOUBLE_EQ(estimate.value, 2);
  EXPECT_NEAR(*estimate.high - 2, 4.30265 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(2 - *estimate.low, 4.30265 / std::sqrt(3.0), 1e-5);
  EXPECT_FALSE(mean_estimate(Samples{1}).low.has_value());
}

// P(Binomial(6, 1/2) = 0) = 1/64 <= 2.5 %, and P(Binomial(5, 1/2) = 0) = 1/32 is not; for 10
// samples P(X <= 1) = 11/1024 and P(X <= 2) = 56/1024: ranks 2 and 9, as printed in tables.
TEST(Statistics, MedianIntervalHasBinomialRanks) {
  EXPECT_FALSE(median_estimate(Samples{1, 2, 3, 4, 5}).low.has_value());
  const Estimate six = median_estimate(Samples{6, 5, 4, 3, 2, 1});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  const Estimate ten = median_estimate(Samples{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(ten.value, 5.5);
  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  Samples many(4000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i + 1);
  const Estimate wide = median_estimate(many);  // n/2 - 1.96 sqrt(n)/2 = 1938.0
  EXPECT_NEAR(*wide.low, 1938, 1.5);
}

TEST(Statistics, RatioIsOfSums) {
  // 10 samples in 1 s, then 10 in 3 s: 5 a second, not the mean of 10 and 10/3.
  const Estimate estimate = ratio_estimate(Samples{10, 10}, Samples{1, 3});
  EXPECT_DOUBLE_EQ(estimate.value, 5);
  // residuals 5 and -5: s^2 = 50, over mean denominator 2: sqrt(50 / 2) / 2, t(1) = 12.7062
  EXPECT_NEAR(*estimate.high - 5, 12.7062 * 2.5, 1e-3);
  EXPECT_FALSE(ratio_estimate(Samples{10}, Samples{2}).low.has_value());
  const Estimate exact = ratio_estimate(Samples{1, 2, 4}, Samples{2, 4, 8});
  EXPECT_DOUBLE_EQ(*exact.low, 0.5);
  EXPECT_DOUBLE_EQ(*exact.high, 0.5);
}

// Neighbours that always differ in pairs cancel within a batch; without batches they would not.
TEST(Statistics, RatioUsesBatchMeans) {
  Samples tops, bottoms;
  for (int i = 0; i < 400; ++i) {
    tops.push_back(i % 2 == 0 ? 9 : 11);
    bottoms.push_back(1);
  }
  const Estimate estimate = ratio_estimate(tops, bottoms);
  EXPECT_DOUBLE_EQ(estimate.value, 10);
  EXPECT_DOUBLE_EQ(*estimate.high, 10);
}

}  // namespace
}  // namespace gradstone
