// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <limits>

namespace gradstone {
namespace {

TEST(Progress, LineShowsWhatIsKnown) {
  ProgressState state;
  state.run = "[1/2] lenet engine@1";
  EXPECT_EQ(progress_line(state), "[1/2] lenet engine@1: start");
  state.phase = "train";
  EXPECT_EQ(progress_line(state), "[1/2] lenet engine@1: train");
  state.event.step = 120;
  state.event.loss = 0.4125;
  EXPECT_EQ(progress_line(state), "[1/2] lenet engine@1: train, step 120, loss 0.4125");
  state.event.total_steps = 1876;
  state.event.samples_per_second = 6400;
  state.batch = 64;  // 1756 steps of 10 ms
  EXPECT_EQ(progress_line(state),
            "[1/2] lenet engine@1: train, step 120 of 1,876, 6400 samples/s, loss 0.4125, 0:18 "
            "left");
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(61.2), "1:02");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(-1), "");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "");
}

}  // namespace
}  // namespace gradstone
