// SPDX-License-Identifier: Apache-2.0
// How the steps of a run are shared out over its measurements, and when a rate is known well
// enough. Pure functions; the loop that obeys them is worker/training_loop.h.
#pragma once

#include <cstdint>
#include <span>

namespace gradstone {

// A run of a fixed number of steps: one first step, apart, since it may compile and allocate; then
// warm-up; then free running in sub-windows; then single steps, each synchronised.
struct StepShares {
  std::int64_t warm_up = 0, free_running = 0, synchronised = 0;
};
// The three add up to total - 1; total >= 1.
StepShares share_out(std::int64_t total);

// Sub-windows last this long at least, so that their ends weigh little.
inline constexpr double kWindowSeconds = 0.3;
inline constexpr std::int64_t kMaxWindowSteps = 1 << 16;
inline constexpr std::int64_t kMinWindows = 5;  // below there is no interval

// Steps of one sub-window when a step takes `step_seconds`. `available` > 0 steps in all are to
// give kMinWindows windows where they can; 0: without end.
std::int64_t window_steps(double step_seconds, std::int64_t available);

// The next window's steps when `left` >= 1 remain before an end that a window may not pass: they are
// spread evenly over as many windows of `steps` as fit.
std::int64_t next_window(std::int64_t left, std::int64_t steps);

// Batch means: half width of the 95 % confidence interval of the mean window time, over that mean;
// to first order the same for the rate. Infinite for fewer than kMinWindows.
double relative_half_width(std::span<const double> window_seconds);

// The 0.975 quantile of Student's t by the expansion of Abramowitz and Stegun 26.7.5; within 0.3 %
// for 4 degrees of freedom, better above.
double student_t_975(std::int64_t degrees);

}  // namespace gradstone
