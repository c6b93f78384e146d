// SPDX-License-Identifier: Apache-2.0
#include "worker/training_loop.h"

#include <algorithm>

#include "record/sample_names.h"
#include "worker/measure_plan.h"

namespace gradstone {
namespace {

// Without a fixed number of steps:
constexpr std::int64_t kUnboundedWarmUpSteps = 5;
constexpr double kWarmUpSeconds = 1, kWarmUpShare = 0.25;  // of MeasurePlan::max_seconds at most
constexpr std::int64_t kMaxStepTimes = 100;
constexpr double kStepTimesSeconds = 5, kStepTimesShare = 0.25;

// Warm-up reports now and then, too.
constexpr double kWarmUpChunkSeconds = 0.2;

std::int64_t steps_within(double seconds, double step_seconds) {
  if (step_seconds <= 0) return 1;
  return static_cast<std::int64_t>(
      std::clamp(seconds / step_seconds, 1.0, static_cast<double>(kMaxWindowSteps)));
}

}  // namespace

std::int64_t TrainingLoop::fixed_steps(const MeasurePlan& measure, std::int64_t batches_per_epoch) {
  return measure.steps > 0 ? measure.steps : measure.epochs * batches_per_epoch;
}

std::int64_t TrainingLoop::steps_to_epoch_end() const {
  if (parts_.measure.epochs == 0) return kMaxWindowSteps;
  return parts_.batches_per_epoch - parts_.runner.steps_done() % parts_.batches_per_epoch;
}

Status TrainingLoop::run() {
  total_ = fixed_steps(parts_.measure, parts_.batches_per_epoch);
  TRY(total_ > 0 ? run_fixed(total_) : run_until_good());
  const bool evaluated_by_epoch = parts_.measure.epochs > 0;
  if (stopped() || evaluated_by_epoch || !parts_.evaluate) return {};
  TRY(parts_.events.phase("evaluate"));
  return parts_.evaluate();
}

Status TrainingLoop::run_fixed(std::int64_t total) {
  const StepShares shares = share_out(total);
  TRY(parts_.events.phase("first_step"));
  TRY(segment(Kind::kFirstStep, 1));
  TRY(warm_up(shares.warm_up, 0));
  TRY(free_running(shares.free_running, 0));
  return synchronised(shares.synchronised, 0);
}

Status TrainingLoop::run_until_good() {
  const double max_seconds = parts_.measure.max_seconds;
  TRY(parts_.events.phase("first_step"));
  TRY(segment(Kind::kFirstStep, 1));
  TRY(warm_up(0, std::min(kWarmUpSeconds, kWarmUpShare * max_seconds)));
  TRY(free_running(0, max_seconds));
  return synchronised(kMaxStepTimes, std::min(kStepTimesSeconds, kStepTimesShare * max_seconds));
}

Status TrainingLoop::warm_up(std::int64_t steps, double seconds) {
  if ((steps == 0 && seconds == 0) || stopped()) return {};
  TRY(parts_.events.phase("warm_up"));
  const double longest = kWarmUpShare * parts_.measure.max_seconds;
  double spent = 0;
  for (std::int64_t done = 0; !stopped();) {
    const bool timed_enough = done >= kUnboundedWarmUpSteps && spent >= seconds;
    if (steps > 0 ? done == steps : timed_enough || (done > 0 && spent >= longest)) break;
    std::int64_t chunk = steps_within(kWarmUpChunkSeconds, step_seconds_);
    if (steps > 0) chunk = std::min(chunk, steps - done);
    chunk = std::min(chunk, steps_to_epoch_end());
    spent += TRY(segment(Kind::kWarmUp, chunk)).seconds;
    done += chunk;
  }
  return {};
}

Status TrainingLoop::free_running(std::int64_t steps, double seconds) {
  if ((steps == 0 && seconds == 0) || stopped()) return {};
  TRY(parts_.events.phase("throughput"));
  const std::int64_t window = window_steps(step_seconds_, steps);
  std::vector<double> windows;
  double spent = 0;
  for (std::int64_t done = 0; !stopped();) {
    if (steps > 0 && done == steps) break;
    if (steps == 0 && (relative_half_width(windows) <= parts_.measure.precision ||
                       (spent >= seconds && !windows.empty()))) {
      break;
    }
    std::int64_t length = window;
    if (steps > 0) {
      length = next_window(std::min(steps - done, steps_to_epoch_end()), window);
    }
    windows.push_back(TRY(segment(Kind::kFreeRunning, length)).seconds);
    spent += windows.back();
    done += length;
  }
  return {};
}

Status TrainingLoop::synchronised(std::int64_t steps, double seconds) {
  if (steps == 0 || stopped()) return {};
  TRY(parts_.events.phase("step_times"));
  double spent = 0;
  for (std::int64_t done = 0; done < steps && !stopped(); ++done) {
    if (seconds > 0 && done > 0 && spent >= seconds) break;
    spent += TRY(segment(Kind::kSynchronised, 1)).seconds;
  }
  return {};
}

Result<Segment> TrainingLoop::segment(Kind kind, std::int64_t steps) {
  const Segment done = TRY(parts_.runner.run(steps));
  step_seconds_ = std::min(step_seconds_, done.seconds / static_cast<double>(steps));
  EventStream& events = parts_.events;
  events.add(sample_names::kLoss, parts_.runner.losses());
  if (kind == Kind::kFirstStep) events.add(sample_names::kFirstStepSeconds, done.seconds);
  if (kind == Kind::kSynchronised) events.add(sample_names::kStepTime, done.seconds);
  if (kind == Kind::kFreeRunning) {
    events.add(sample_names::kWindowSeconds, done.seconds);
    events.add(sample_names::kWindowSamples, static_cast<double>(done.samples));
    events.add(sample_names::kInputWait, done.input_wait);
  }
  ProgressEvent progress;
  progress.step = parts_.runner.steps_done();
  progress.total_steps = total_;
  progress.epoch = (progress.step - 1) / parts_.batches_per_epoch;
  progress.samples_per_second =
      done.seconds > 0 ? static_cast<double>(done.samples) / done.seconds : 0;
  progress.loss = parts_.runner.losses().back();
  TRY(events.flush_if_due(progress));
  const bool epoch_ends = progress.step % parts_.batches_per_epoch == 0;
  if (parts_.measure.epochs > 0 && epoch_ends && !stopped()) TRY(end_epoch());
  return done;
}

Status TrainingLoop::end_epoch() {
  const double now = parts_.runner.train_seconds();
  parts_.events.add(sample_names::kEpochSeconds, now - epoch_start_seconds_);
  epoch_start_seconds_ = now;
  if (!parts_.evaluate) return {};
  TRY(parts_.events.phase("evaluate"));
  TRY(parts_.evaluate());
  return parts_.events.phase("train");
}

}  // namespace gradstone
