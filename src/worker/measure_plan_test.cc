// SPDX-License-Identifier: Apache-2.0
#include "worker/measure_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gradstone {
namespace {

TEST(MeasurePlan, SharesAddUpToAllButTheFirstStep) {
  for (std::int64_t total = 1; total < 1000; ++total) {
    const StepShares shares = share_out(total);
    ASSERT_GE(shares.warm_up, 0);
    ASSERT_GE(shares.synchronised, 0);
    ASSERT_GE(shares.free_running, 0);
    ASSERT_EQ(shares.warm_up + shares.free_running + shares.synchronised, total - 1);
    ASSERT_GE(2 * shares.free_running, total - 1);  // most of the run measures the rate
  }
}

TEST(MeasurePlan, WindowsAreLongEnoughOrFiveCanBe) {
  EXPECT_EQ(window_steps(0.01, 0), 30);
  EXPECT_EQ(window_steps(0.01, 1000), 30);
  EXPECT_EQ(window_steps(0.01, 60), 12);
  EXPECT_EQ(window_steps(0.01, 4), 1);
  EXPECT_EQ(window_steps(7, 0), 1);
  EXPECT_EQ(window_steps(0, 0), kMaxWindowSteps);
}

TEST(MeasurePlan, WindowsCoverASpanEvenly) {
  for (std::int64_t span = 1; span < 200; ++span) {
    std::int64_t left = span, shortest = span, longest = 0;
    while (left > 0) {
      const std::int64_t window = next_window(left, 12);
      ASSERT_GE(window, 1);
      shortest = std::min(shortest, window);
      longest = std::max(longest, window);
      left -= window;
    }
    ASSERT_EQ(left, 0);
    ASSERT_LE(longest - shortest, 1) << span;
    if (span >= 12) {
      ASSERT_GE(shortest, 12);
    }
  }
}

// Table of Student's t distribution, two-sided 95 %.
TEST(MeasurePlan, StudentTIsThatOfTheTables) {
  EXPECT_NEAR(student_t_975(4), 2.7764, 0.0084);
  EXPECT_NEAR(student_t_975(9), 2.2622, 0.0005);
  EXPECT_NEAR(student_t_975(29), 2.0452, 0.0001);
  EXPECT_NEAR(student_t_975(99), 1.9842, 0.0001);
}

TEST(MeasurePlan, HalfWidthIsThatOfBatchMeans) {
  EXPECT_TRUE(std::isinf(relative_half_width(std::vector<double>{1, 1, 1, 1})));
  EXPECT_EQ(relative_half_width(std::vector<double>(5, 0.25)), 0);
  // Mean 3, variance 2.5 of 1..5: t sqrt(2.5 / 5) / 3.
  EXPECT_NEAR(relative_half_width(std::vector<double>{1, 2, 3, 4, 5}), 2.7764 * std::sqrt(0.5) / 3,
              0.002);
}

}  // namespace
}  // namespace gradstone
