// SPDX-License-Identifier: Apache-2.0
#include "worker/measure_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstone {
namespace {

constexpr std::int64_t kMaxWarmUp = 20, kMaxSynchronised = 50;
constexpr double kNormal975 = 1.959963984540054;

}  // namespace

StepShares share_out(std::int64_t total) {
  const std::int64_t rest = total - 1;
  StepShares shares;
  shares.warm_up = std::min(rest / 5, kMaxWarmUp);
  shares.synchronised = std::min(rest / 4, kMaxSynchronised);
  shares.free_running = rest - shares.warm_up - shares.synchronised;
  return shares;
}

std::int64_t window_steps(double step_seconds, std::int64_t available) {
  const double wanted = step_seconds > 0 ? std::ceil(kWindowSeconds / step_seconds)
                                         : static_cast<double>(kMaxWindowSteps);
  const auto steps =
      static_cast<std::int64_t>(std::clamp(wanted, 1.0, static_cast<double>(kMaxWindowSteps)));
  if (available == 0) return steps;
  return std::min(steps, std::max<std::int64_t>(1, available / kMinWindows));
}

std::int64_t next_window(std::int64_t left, std::int64_t steps) {
  const std::int64_t windows = std::max<std::int64_t>(1, left / steps);
  return std::min(left / windows, kMaxWindowSteps);
}

double student_t_975(std::int64_t degrees) {
  const double z = kNormal975, n = static_cast<double>(degrees);
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

double relative_half_width(std::span<const double> window_seconds) {
  const auto count = static_cast<double>(window_seconds.size());
  if (count < kMinWindows) return std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
  for (const double seconds : window_seconds) sum += seconds;
  const double mean = sum / count;
  for (const double seconds : window_seconds) squares += (seconds - mean) * (seconds - mean);
  const double deviation = std::sqrt(squares / (count - 1));
  const double t = student_t_975(static_cast<std::int64_t>(count) - 1);
  return t * deviation / std::sqrt(count) / mean;
}

}  // namespace gradstone
