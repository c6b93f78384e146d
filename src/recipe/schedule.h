// SPDX-License-Identifier: Apache-2.0
// Learning rate over time, as data and as a pure function.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace gradstone {

enum class ScheduleKind {
  kConstant,           // base
  kStep,               // base * factor^floor(step / every)
  kMultiStep,          // base * factor^(number of `boundaries` <= step)
  kInverse,            // Caffe "inv": base * (1 + factor * step)^(-power)
  kInverseTime,        // Torch's learningRateDecay: base / (1 + factor * step)
  kExponential,        // base * factor^(step / every), step / every not rounded
  kEpochAnnealing,     // base / factor^epoch (Deep Speech 2)
  kInverseSquareRoot,  // Vaswani et al. 2017, eq. 3: base * min(step+1 ^ -0.5, (step+1) *
                       // warmup^-1.5)
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double base = 0.01;
  double factor = 1;
  double power = 1;
  std::int64_t every = 1;
  std::vector<std::int64_t> boundaries;
  // Linear warm-up: the first `warmup_steps` updates use (step + 1) / warmup_steps of the
  // schedule's rate, from base / warmup_steps up to it without a jump. Steps, boundaries and epochs
  // count from the start of training, warm-up included (Goyal et al. 2017, section 2.2).
  // kInverseSquareRoot has a rise of its own.
  std::int64_t warmup_steps = 0;

  bool operator==(const Schedule&) const = default;
};

std::string_view name_of(ScheduleKind kind);  // "constant", "multi_step", ...
// Learning rate of update `step` (from 0) in epoch `epoch` (from 0).
double learning_rate(const Schedule& schedule, std::int64_t step, std::int64_t epoch);
// Ranges of the fields. The error names the field.
Status check_schedule(const Schedule& schedule);
Json to_json(const Schedule& schedule);
Result<Schedule> schedule_from_json(const Json& json);

}  // namespace gradstone
