// SPDX-License-Identifier: Apache-2.0
#include "recipe/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gradstone {
namespace {

Schedule of_kind(ScheduleKind kind, double base, double factor) {
  Schedule schedule;
  schedule.kind = kind;
  schedule.base = base;
  schedule.factor = factor;
  return schedule;
}

TEST(Schedule, Constant) {
  EXPECT_EQ(learning_rate(of_kind(ScheduleKind::kConstant, 0.3, 0.5), 12345, 6), 0.3);
}

TEST(Schedule, StepFallsEveryFewSteps) {
  Schedule schedule = of_kind(ScheduleKind::kStep, 1, 0.5);
  schedule.every = 10;
  EXPECT_EQ(learning_rate(schedule, 9, 0), 1);
  EXPECT_EQ(learning_rate(schedule, 10, 0), 0.5);
  EXPECT_EQ(learning_rate(schedule, 39, 0), 0.125);
}

TEST(Schedule, MultiStepFallsAtItsBoundaries) {
  Schedule schedule = of_kind(ScheduleKind::kMultiStep, 8, 0.5);
  schedule.boundaries = {3, 5, 5};
  EXPECT_EQ(learning_rate(schedule, 2, 0), 8);
  EXPECT_EQ(learning_rate(schedule, 3, 0), 4);
  EXPECT_EQ(learning_rate(schedule, 4, 0), 4);
  EXPECT_EQ(learning_rate(schedule, 5, 0), 1);
}

// 1 + 1e-4 * 150000 = 16, and 16^-0.75 = 1/8.
TEST(Schedule, InverseIsCaffesFormula) {
  Schedule schedule = of_kind(ScheduleKind::kInverse, 0.01, 1e-4);
  schedule.power = 0.75;
  EXPECT_EQ(learning_rate(schedule, 0, 0), 0.01);
  EXPECT_NEAR(learning_rate(schedule, 150000, 0), 0.01 / 8, 1e-15);
}

// 1 + 5e-7 * 2000000 = 2.
TEST(Schedule, InverseTimeHalvesWhenFactorTimesStepIsOne) {
  EXPECT_NEAR(learning_rate(of_kind(ScheduleKind::kInverseTime, 0.05, 5e-7), 2000000, 0), 0.025,
              1e-15);
}

TEST(Schedule, ExponentialIsNotRounded) {
  Schedule schedule = of_kind(ScheduleKind::kExponential, 1, 0.25);
  schedule.every = 10;
  EXPECT_NEAR(learning_rate(schedule, 5, 0), 0.5, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 20, 0), 0.0625, 1e-15);
}

TEST(Schedule, EpochAnnealingCountsEpochsOnly) {
  const Schedule schedule = of_kind(ScheduleKind::kEpochAnnealing, 1, 2);
  EXPECT_EQ(learning_rate(schedule, 999, 0), 1);
  EXPECT_EQ(learning_rate(schedule, 0, 3), 0.125);
}

// Both branches meet at step + 1 = warmup, where the rate is base / sqrt(warmup).
TEST(Schedule, InverseSquareRootRisesThenFalls) {
  Schedule schedule = of_kind(ScheduleKind::kInverseSquareRoot, 1, 1);
  schedule.warmup_steps = 16;
  EXPECT_NEAR(learning_rate(schedule, 0, 0), 1.0 / 64, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 7, 0), 8.0 / 64, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 15, 0), 0.25, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 63, 0), 0.125, 1e-15);
  schedule.warmup_steps = 0;
  EXPECT_NEAR(learning_rate(schedule, 3, 0), 0.5, 1e-15);
}

TEST(Schedule, WarmUpRisesLinearlyToBase) {
  Schedule schedule = of_kind(ScheduleKind::kMultiStep, 0.8, 0.1);
  schedule.boundaries = {100};
  schedule.warmup_steps = 4;
  EXPECT_NEAR(learning_rate(schedule, 0, 0), 0.2, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 2, 0), 0.6, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 3, 0), 0.8, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 4, 0), 0.8, 1e-15);
  EXPECT_NEAR(learning_rate(schedule, 100, 0), 0.08, 1e-15);
}

// Where warm-up ends, the rate changes by no more than the schedule itself does in one step.
TEST(Schedule, WarmUpJoinsAFallingScheduleWithoutAJump) {
  for (const ScheduleKind kind :
       {ScheduleKind::kInverse, ScheduleKind::kInverseTime, ScheduleKind::kExponential}) {
    Schedule plain = of_kind(kind, 1, kind == ScheduleKind::kExponential ? 0.99 : 0.01);
    Schedule warm = plain;
    warm.warmup_steps = 50;
    EXPECT_EQ(learning_rate(warm, 49, 0), learning_rate(plain, 49, 0));
    EXPECT_EQ(learning_rate(warm, 50, 0), learning_rate(plain, 50, 0));
    EXPECT_LT(learning_rate(warm, 48, 0), learning_rate(warm, 49, 0));
  }
}

TEST(Schedule, ChecksNameTheField) {
  const auto message = [](void (*spoil)(Schedule&)) {
    Schedule schedule;
    spoil(schedule);
    return check_schedule(schedule).error().message;
  };
  EXPECT_TRUE(check_schedule(Schedule{}).ok());
  EXPECT_EQ(message([](Schedule& s) { s.base = -1; }),
            "schedule.base must be a finite number of at least 0");
  EXPECT_EQ(message([](Schedule& s) { s.base = std::nan(""); }),
            "schedule.base must be a finite number of at least 0");
  EXPECT_EQ(message([](Schedule& s) { s.factor = 0; }), "schedule.factor must be above 0");
  EXPECT_EQ(message([](Schedule& s) {
              s.kind = ScheduleKind::kInverse;
              s.factor = -1;
            }),
            "schedule.factor must be at least 0");
  EXPECT_EQ(message([](Schedule& s) { s.power = INFINITY; }), "schedule.power must be finite");
  EXPECT_EQ(message([](Schedule& s) { s.every = 0; }), "schedule.every must be at least 1");
  EXPECT_EQ(message([](Schedule& s) {
              s.boundaries = {5, 3};
            }),
            "schedule.boundaries must be steps from 0 in ascending order");
  EXPECT_EQ(message([](Schedule& s) { s.warmup_steps = -1; }),
            "schedule.warmup_steps must be at least 0");
}

TEST(Schedule, JsonKeepsEveryField) {
  Schedule schedule = of_kind(ScheduleKind::kInverseSquareRoot, 0.25, 0.5);
  schedule.power = 0.75;
  schedule.every = 7;
  schedule.boundaries = {1, 2};
  schedule.warmup_steps = 9;
  EXPECT_EQ(to_json(schedule)["kind"], "inverse_square_root");
  EXPECT_EQ(schedule_from_json(to_json(schedule)).value(), schedule);
  EXPECT_EQ(schedule_from_json({{"kind", "inverse"}, {"gama", 1}}).error().message,
            "unknown key 'gama'");
}

}  // namespace
}  // namespace gradstone
