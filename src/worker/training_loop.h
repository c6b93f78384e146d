// SPDX-License-Identifier: Apache-2.0
// The course of a training run: first step, warm-up, free-running sub-windows, synchronised steps,
// with evaluation where it is due. What each sample means stands in record/sample_names.h.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "worker/event_stream.h"
#include "worker/step_runner.h"

namespace gradstone {

class TrainingLoop {
 public:
  struct Parts {
    MeasurePlan measure;
    std::int64_t batches_per_epoch = 1;
    StepRunner& runner;
    EventStream& events;
    // Evaluates, and adds the result to `events`. Empty: never.
    std::function<Status()> evaluate;
  };
  explicit TrainingLoop(Parts parts) : parts_(std::move(parts)) {}

  // Steps that `measure` fixes; 0: until the measurement is good.
  static std::int64_t fixed_steps(const MeasurePlan& measure, std::int64_t batches_per_epoch);

  // Trains and evaluates. Returns early, without evaluation, once a loss is not finite: see
  // StepRunner::diverged_at.
  Status run();

 private:
  enum class Kind { kFirstStep, kWarmUp, kFreeRunning, kSynchronised };

  Status run_fixed(std::int64_t total);
  Status run_until_good();
  // At most `steps` steps of one kind; `seconds` > 0 ends it early, after the step that passes it.
  Status warm_up(std::int64_t steps, double seconds);
  Status free_running(std::int64_t steps, double seconds);
  Status synchronised(std::int64_t steps, double seconds);
  // One segment, its samples, and the end of an epoch where it reaches one.
  Result<Segment> segment(Kind kind, std::int64_t steps);
  Status end_epoch();
  std::int64_t steps_to_epoch_end() const;  // as many as can be, where epochs do not matter
  bool stopped() const { return parts_.runner.diverged_at().has_value(); }

  Parts parts_;
  std::int64_t total_ = 0;
  // The shortest so far: a disturbed step must not make the sub-windows too short.
  double step_seconds_ = std::numeric_limits<double>::infinity();
  double epoch_start_seconds_ = 0;
};

}  // namespace gradstone
